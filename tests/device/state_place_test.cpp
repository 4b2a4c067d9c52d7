// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// State on a disk of values on a device: an error.
#include <gtest/gtest.h>

#include <memory>

#include "../io/shared_folder.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/nn/parameter.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/store.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

TEST(StateOnADisk, OfADeviceIsRefused) {
  const SharedFolder folder;
  Parameter weight("weight", Space(Partition::world(), {3}), {});
  weight.initialise(1, at::kFloat, pretend_device());
  const std::shared_ptr<Store> store = whole({weight});
  store->keep_state_in(disk_place(folder.path(), {}));
  EXPECT_ERROR(AdamW(store, {}), "lies on the disk of", "the values of weight on ",
               "only state of values on the CPU may lie elsewhere");
}

}  // namespace
}  // namespace riesz::testing
