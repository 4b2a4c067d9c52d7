// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// How long gathered values and unreduced gradients live on a worker: that is what a ZeRO stage is.
///
///     stage   whole values   unreduced gradients   reduced by
///     0       always         a step                AllReduce
///     1       a step         a step                ReduceScatter
///     2       a step         a micro-batch         ReduceScatter
///     3       a use          a micro-batch         ReduceScatter
struct Lifetimes {
  /// Where they do not live always, a worker trains its piece of them, and the pieces are gathered.
  enum class Values { always, a_step, a_use };
  /// Where they live a micro-batch, a worker keeps its piece of their sum.
  enum class Gradients { a_step, a_micro_batch };

  Values values;
  Gradients gradients;
};

/// @throws Error unless the stage is 0 (data parallel), 1, 2 or 3.
Lifetimes lifetimes_of(int stage);

}  // namespace riesz
