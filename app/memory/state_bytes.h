// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "riesz/io/disk/disk_place.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The bytes of an optimizer's state, with the masters of half parameters, by where they lie.
struct StateBytes {
  double in_memory = 0;
  double elsewhere = 0;
};

/// For the bytes of state and of masters on a rank. Of what lies on a disk, some pages of each number that is
/// kept for an element are in memory; of what lies on the host, one is on the device.
inline StateBytes state_by_place(const Config& config, double state, double masters) {
  if (config.offload.state == "device") return {state + masters, 0};
  const double pages = config.offload.state == "host" ? 1 : 2 * static_cast<double>(config.offload.depth) + 1;
  const auto here = [&](double numbers, double bytes) {
    return std::min(bytes, numbers * pages * static_cast<double>(DiskOptions{}.page_bytes));
  };
  const double of_state = here(config.optimizer.kind == "sgd" ? 1 : 2, state);
  if (config.offload.masters == "device") return {of_state + masters, state};
  return {of_state + here(1, masters), state + masters};
}

}  // namespace riesz::app
