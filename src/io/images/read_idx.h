// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace riesz {

/// The array in an idx file, which is MNIST's format, packed by gzip or not: bytes, of the file's extents.
/// Local.
/// @throws Error naming the file: it cannot be read, is not such a file or not of bytes, or has other bytes
/// than its extents say.
at::Tensor read_idx(const std::filesystem::path& path);

/// The extents that its head says, of which nothing else is read. @throws Error likewise.
std::vector<std::int64_t> idx_extents(const std::filesystem::path& path);

}  // namespace riesz
