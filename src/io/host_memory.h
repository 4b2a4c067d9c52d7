// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace riesz {

/// The bytes that processes of this host can still take: MemAvailable of /proc/meminfo, or less, where a
/// control group of this process (cgroup 1 or 2, or one above it) leaves less until its limit; memory that
/// holds copies of files counts as free. Nothing where the system does not say. `root` is where /proc and
/// /sys are. Local.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace riesz
