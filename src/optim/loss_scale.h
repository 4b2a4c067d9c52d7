// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/optim/store.h"

namespace riesz {

struct LossScaleOptions {
  double initial = 65536;
  bool dynamic = true;         ///< else always the initial one
  double factor = 2;           ///< by which it rises and falls
  std::int64_t window = 1000;  ///< clean steps after which it rises
  int hysteresis = 2;          ///< overflows that it takes until it falls
  double least = 1;
};

/// The factor on a loss that keeps half gradients from vanishing, as DeepSpeed's dynamic loss scale. Multiply
/// the loss by `value` before backward; then step only where `unscale` says so:
///
///     backward(scale.value() * loss);
///     if (scale.unscale(store)) { clip_gradients(store, 1.0); optimizer.step(); }
///
/// A gradient that is not finite on any worker makes all of them skip the step. Then the scale falls, once
/// overflows have used up the hysteresis; it rises after a window of clean steps, and the hysteresis is whole
/// again.
class LossScale {
 public:
  /// @throws Error naming the option that is out of range.
  explicit LossScale(const LossScaleOptions& options = {});

  double value() const { return scale_; }
  /// @throws Error below the least.
  void set_value(double scale);
  /// Steps skipped so far.
  std::int64_t skipped() const { return skipped_; }

  /// Divides the gradients by the scale if all are finite, and returns whether they are, the same answer on
  /// all workers. Updates the scale. Collective over the store's partition: one AllMin of one flag.
  /// @throws Error on a worker that is not one of the store's, on that worker alone.
  bool unscale(Store& store);

  /// Its state, alike on all workers of P: `value` and its counts. Loading writes into it. Valid as long as
  /// this lives at its address.
  State state(const Partition& P);

 private:
  void fall();
  void rise();

  LossScaleOptions options_;
  double scale_;
  std::int64_t hysteresis_;
  std::int64_t clean_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace riesz
