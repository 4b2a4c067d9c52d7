// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/io/disk/disk_speed.h"
#include "riesz/partition/partition.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// The folders that offload.path names.
std::vector<std::filesystem::path> offload_paths(const Config& config);

/// Measures the disks of offload.path, all ranks at once, for half a second each: the speeds of the slowest
/// rank. None where nothing lies on a disk. Collective over P.
/// @throws Error on all workers if a disk fails on one.
std::vector<DiskSpeed> measure_disks(const Partition& P, const Config& config);

/// A line for each of them: its speeds, and the seconds that a step's traffic of state with it takes.
/// `bytes`: of state that a rank reads, and writes, in a step; 0 where the state lies elsewhere.
std::string disk_report(const Config& config, const std::vector<DiskSpeed>& speeds, std::int64_t bytes);

}  // namespace riesz
