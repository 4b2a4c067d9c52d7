// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <memory>

#include "riesz/io/arrays/array_source.h"

namespace riesz {

/// The array of a .npy file. A box is read run by run: its own bytes and no others. @throws Error as
/// `read_npy_header`.
std::unique_ptr<ArraySource> open_npy(const std::filesystem::path& path);

}  // namespace riesz
