// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "riesz/io/arrays/array_source.h"

namespace riesz {

/// A dataset of a file of HDF5, read by HDF5's library, which is loaded by the first call. A box is one
/// hyperslab; of a dataset in chunks the library reads the chunks that it meets.
/// @throws Error naming the file and the dataset where there is none, or its elements are no numbers. Also
/// where Riesz was built without HDF5's headers, or the library is not there.
std::unique_ptr<ArraySource> open_hdf5(const std::string& file, const std::string& dataset);

}  // namespace riesz
