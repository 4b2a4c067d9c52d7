// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>

#include "riesz/io/disk/disk_place.h"

namespace riesz {

/// Bytes a second.
struct DiskSpeed {
  double write = 0;
  double read = 0;
};

/// How much is moved, at most, to measure a disk.
struct DiskTrial {
  std::int64_t bytes = std::int64_t{64} << 20;  ///< of the file
  double seconds = 0.25;                        ///< of writing, and of reading
};

/// Writes a file of a folder and reads it again, with as many pages under way as `options` says. It ends with
/// the pages under way when the trial's seconds are over, and leaves nothing. Local; workers that share a
/// disk call it at the same time.
/// @throws Error naming the folder if it has no room, or its disk fails.
DiskSpeed measure_disk(const std::filesystem::path& folder, const DiskOptions& options = {},
                       const DiskTrial& trial = {});

}  // namespace riesz
