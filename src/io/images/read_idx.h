// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// The array in an idx file, which is MNIST's format, packed by gzip or not: bytes, of the file's extents.
/// Local.
/// @throws Error naming the file: it cannot be read, is not such a file or not of bytes, or has other bytes
/// than its extents say.
at::Tensor read_idx(const std::filesystem::path& path);

/// Some rows of its first extent, in order: `take` is called with a few of them at a time, and with the
/// number of their first. The file is read from its beginning to the last of these rows; that it ends with
/// the array is checked where they are the array's last. @throws Error likewise.
void read_idx_rows(const std::filesystem::path& path, const Interval& rows,
                   const std::function<void(std::int64_t first, const at::Tensor& some)>& take);

/// The extents that its head says, of which nothing else is read. @throws Error likewise.
std::vector<std::int64_t> idx_extents(const std::filesystem::path& path);

}  // namespace riesz
