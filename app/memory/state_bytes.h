// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "riesz/io/disk/disk_place.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The bytes of an optimizer's state by where they lie.
struct StateBytes {
  double in_memory = 0;
  double on_disk = 0;
};

/// For `bytes` of state on a rank. Of what lies on a disk, some pages of each number that is kept for an
/// element are in memory.
inline StateBytes state_by_place(const Config& config, double bytes) {
  if (config.offload.state == "device") return {bytes, 0};
  const double numbers = config.optimizer.kind == "sgd" ? 1 : 2;
  const double pages = 2 * static_cast<double>(config.offload.depth) + 1;
  return {std::min(bytes, numbers * pages * static_cast<double>(DiskOptions{}.page_bytes)), bytes};
}

}  // namespace riesz::app
