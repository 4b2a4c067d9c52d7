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
/// @throws Error naming the file if it cannot be read, is not an idx file of bytes, or has another length
/// than its extents say.
at::Tensor read_idx(const std::filesystem::path& path);

/// Reads `rows` along the array's first dim, in order. It calls `take` with a few rows at a time and the
/// number of the first. The file is read from its beginning to the last of these rows. If they are the
/// array's last, it checks that the file ends with the array. @throws Error likewise.
void read_idx_rows(const std::filesystem::path& path, const Interval& rows,
                   const std::function<void(std::int64_t first, const at::Tensor& some)>& take);

/// The extents in its head; nothing else is read. @throws Error likewise.
std::vector<std::int64_t> idx_extents(const std::filesystem::path& path);

}  // namespace riesz
