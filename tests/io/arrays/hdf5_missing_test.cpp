// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What is said of files of HDF5 where Riesz was built without it.
#include <gtest/gtest.h>

#include "riesz/comm/error.h"
#include "riesz/io/arrays/stored_array.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TEST(Hdf5, IsMissedByName) {
  EXPECT_ERROR(StoredArray("some.h5:a"), "cannot read \"a\" of \"some.h5\"", "built without HDF5",
               "install libhdf5-dev");
}

}  // namespace
}  // namespace riesz::testing
