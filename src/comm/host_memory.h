// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace riesz {

/// The bytes that this process can still take. It is the least of MemAvailable in /proc/meminfo and what its
/// control groups (cgroup 1 or 2), and those above them, leave below their limits. Memory that holds copies
/// of files counts as free. Nothing where the system does not say. `root` is where /proc and /sys are. Local.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace riesz
