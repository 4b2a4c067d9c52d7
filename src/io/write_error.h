// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace riesz {

/// What to say of a file that could not be written, by the system's `reason` (errno): the path, the reason,
/// and, where the disk is full, how many bytes were to be written and how many are free; where a file may not
/// be so long, the limit.
std::string write_error(const std::filesystem::path& path, int reason, std::int64_t bytes);

}  // namespace riesz
