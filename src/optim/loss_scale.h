// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "riesz/comm/late_number.h"
#include "riesz/optim/store.h"
#include "riesz/partition/vector.h"

namespace riesz {

struct LossScaleOptions {
  double initial = 65536;
  bool dynamic = true;         ///< else always the initial one
  double factor = 2;           ///< by which it rises and falls
  std::int64_t window = 1000;  ///< clean steps after which it rises
  int hysteresis = 2;          ///< overflows that it takes until it falls
  double least = 1;
};

/// The factor on a loss that keeps half gradients from vanishing, as DeepSpeed's dynamic loss scale. Scale
/// the loss before backward; then step only where `unscale` says so:
///
///     backward(scale.scaled(loss));
///     if (scale.unscale(store)) { clip_gradients(store, 1.0); optimizer.step(); }
///
/// A gradient that is not finite on any worker makes all of them skip the step. Then the scale falls, once
/// overflows have used up the hysteresis; it rises after a window of clean steps, and the hysteresis is whole
/// again.
///
/// On a device the scale and its counts live there, and the host does not wait to know whether gradients are
/// finite. `unscale` then says that the step goes on, and the step changes nothing where they are not.
class LossScale {
 public:
  /// @throws Error naming the option that is out of range.
  explicit LossScale(const LossScaleOptions& options = {});

  /// The scale; on a device it waits.
  double value() const {
    come_home();
    return scale_;
  }
  /// (value·factor)·loss, without a wait.
  Vector scaled(const Vector& loss, double factor = 1) const;
  /// @throws Error below the least.
  void set_value(double scale);
  /// x/value, without a wait, for a tensor of fp64 with what was scaled.
  at::Tensor unscaled(const at::Tensor& x) const;
  /// Steps skipped so far; on a device it waits.
  std::int64_t skipped() const {
    come_home();
    return skipped_;
  }

  /// Divides the gradients by the scale if all are finite, and returns whether they are, the same answer on
  /// all workers. On a device it returns true, and divides them in any case. Updates the scale. Collective
  /// over the store's partition: one AllMin of one flag.
  /// @throws Error on a worker that is not one of the store's, on that worker alone.
  bool unscale(Store& store);
  /// Was the step skipped that the last `unscale` was for? 1 or 0; its read waits for a device.
  LateNumber last_skipped() const { return last_skipped_; }

  /// Its state, alike on all workers of P: `value` and its counts. Take it anew to save it: on a device it
  /// shows the numbers of when it was taken. Loading writes into it, and what was written counts at once;
  /// what was not written is as the last `unscale` left it.
  /// Valid as long as this lives at its address.
  State state(const Partition& P);

 private:
  /// The scale and its counts where a device updates them; tensors without dims.
  struct There {
    at::Tensor scale, hysteresis, clean, skipped;
  };

  void fall();
  void rise();
  void go_to(at::Device device);
  void come_home() const;
  void unscale_there(Store& store, const std::vector<Share>& shares);
  void update_there(const at::Tensor& finite);

  LossScaleOptions options_;
  // What reads them brings them home, so these are those of There whenever nothing else can see them.
  mutable double scale_;
  mutable std::int64_t hysteresis_;
  mutable std::int64_t clean_ = 0;
  mutable std::int64_t skipped_ = 0;
  mutable std::optional<There> there_;
  LateNumber last_skipped_ = 0;
};

}  // namespace riesz
