// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "riesz/comm/late_number.h"
#include "riesz/nn/experts/top_k_gate.h"
#include "riesz/nn/module.h"
#include "riesz/train/report/history.h"

namespace riesz {

/// How the gates of a model with experts chose in a step of training. Their sums are over all workers that
/// shard tokens already, so only the stages of a pipeline tell each other theirs.
class GateReport {
 public:
  /// Reports all gates in `model`. `workers` has the workers of all its stages. Both must outlive it.
  GateReport(const Module& model, const Partition& workers);

  /// The numbers of a step, for `row_of`; none where the model has no gates. Call it after the step's last
  /// micro-batch, on all workers. Without stages it is local. With stages it is an AllMax of 3 numbers for
  /// each gate. It goes over the axis pp, or over all axes of `workers` without one. It waits for no device.
  LateNumbers of_step(std::int64_t step) const;

  /// The row's numbers; std::nullopt without gates. Waits for a device that still computes them.
  static std::optional<ExpertRow> row_of(const LateNumbers& numbers);

 private:
  const Module& model_;
  const Partition& workers_;
  std::vector<const TopKGate*> gates_;
};

}  // namespace riesz
