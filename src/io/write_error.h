// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace riesz {

/// The message about a file that could not be written, by the system's `reason` (errno). It has the path and
/// the reason. If the disk is full, it says how many bytes were to be written and how many are free; if the
/// file may not be so long, it says the limit.
std::string write_error(const std::filesystem::path& path, int reason, std::int64_t bytes);

}  // namespace riesz
