// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// A worker's row as most papers tell it: forward passes to warm up, then one forward and one backward pass
/// in turn, then the backward passes that are left.
struct Turns {
  std::vector<Action> forward;   ///< in their order
  std::vector<Action> backward;  ///< in theirs: whole, or of inputs
  int ahead = 1;                 ///< forward passes before the first backward pass, if there are so many
  int put_off = 0;  ///< where backward passes are of inputs, weights follow so many of them later
};
std::vector<Action> in_turns(const Turns& turns);

/// The pass of micro-batches 0 to n − 1 in one chunk.
std::vector<Action> each_micro_batch(Pass pass, int chunk, int micro_batches);

/// The same action as another pass.
Action as(Pass pass, Action action);

}  // namespace riesz
