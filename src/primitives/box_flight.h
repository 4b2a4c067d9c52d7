// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "riesz/comm/communicator.h"
#include "riesz/primitives/box_plan.h"
#include "riesz/primitives/flight.h"

namespace riesz {

/// A box exchange under way. Parts that are contiguous go and come without a copy; others are packed once.
/// Between two partitions all are packed, and it is done when what comes is there: what it sends waits in
/// memory of its own for whoever comes later, and x may be written.
class BoxFlight final : public Flight {
 public:
  /// `plan` and `operation` outlive it.
  BoxFlight(const Operation& operation, const BoxPlan& plan, at::IntArrayRef y_shape);

  void launch(const at::Tensor& x) override;
  bool done() override;
  at::Tensor result() override { return std::move(y_); }
  std::vector<int> waits_for() const override;

 private:
  Parcel sent(const at::Tensor& x, std::size_t out) const;
  void post(std::vector<Parcel> sends);
  void receive_as_sent(const at::Tensor& x);
  void take_as_sent();
  void receive_in_place();
  void receive_terms(const at::Tensor& x);
  void place_kept(const at::Tensor& x);
  void finish_placing();
  void finish_adding();

  const Operation& operation_;
  const BoxPlan& plan_;
  at::IntArrayRef y_shape_;
  Tags tags_;
  at::TensorOptions options_;
  at::Tensor y_;
  std::vector<at::Tensor> parcels_;  // as they arrive; undefined where they go straight into y
  std::vector<Parcel> receives_;
  std::vector<std::shared_ptr<at::Tensor>> arrived_;  // of whatever type
  std::unique_ptr<Exchange> exchange_;
  bool finished_ = false;
};

}  // namespace riesz
