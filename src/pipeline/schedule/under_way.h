// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// The most that each worker keeps at a time.
struct UnderWay {
  /// Chunks' activations: each from its forward pass, or from its recompute if it has one, to the end of its
  /// backward pass, of its weights too; 0 where nothing goes backward. A chunk of a worker that has v of them
  /// keeps about 1/v of what a stage keeps.
  std::vector<int> activations;
  /// Chunks' inputs that wait for their recompute.
  std::vector<int> inputs;
  /// Versions of a chunk's weights: the newest, and each that an action still reads.
  std::vector<int> versions;

  bool operator==(const UnderWay&) const = default;
};

/// It follows from the order of each worker's row alone, whatever anything costs.
UnderWay under_way(const Schedule& schedule);

}  // namespace riesz
