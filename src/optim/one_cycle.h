// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// One cycle (Smith, 1803.09820), as DeepSpeed's OneCycle. The learning rate goes in a straight line from the
/// least to the greatest in `first_steps` and back in `second_steps`, while the momentum goes the other way.
/// Then, after k more steps, they are least_rate/(1 + rate_decay·k/decay_steps) and greatest_momentum·(1 +
/// momentum_decay·k/decay_steps). With stairs, a way is that number of equal steps, each kept until the next.
/// A pure function of the step, counted from 0.
struct OneCycle {
  double least_rate = 1e-4;
  double greatest_rate = 1e-3;
  std::int64_t first_steps = 2000;
  std::int64_t second_steps = 2000;
  std::int64_t first_stairs = 0;   ///< 0: none
  std::int64_t second_stairs = 0;  ///< likewise
  double rate_decay = 0;
  std::int64_t decay_steps = 0;  ///< 0: no decay
  double least_momentum = 0.8;
  double greatest_momentum = 0.9;
  double momentum_decay = 0;

  /// @throws Error naming what is out of range.
  double learning_rate(std::int64_t step) const;
  /// SGD's momentum or beta1: what Optimizer::set_momentum takes.
  double momentum(std::int64_t step) const;
};

}  // namespace riesz
