// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include "riesz/optim/optimizer.h"

namespace riesz {

struct LambElements;

struct LambOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;  ///< of the parameters that decay
  /// The bounds of ‖w‖/‖u‖: none, as in the paper; DeepSpeed's are 0.01 and 10.
  double least_ratio = 0;
  double greatest_ratio = std::numeric_limits<double>::infinity();
};

/// LAMB (You et al., 1904.00962): u = m̂/(√v̂ + ε) + λ·w, then w ← w − η·(‖w‖/‖u‖)·u, with the ratio 1 where
/// one of the norms is 0. They are of the whole parameter, over all workers: a step is collective over the
/// store's partition, one AllReduce of two fp64 numbers a parameter.
class Lamb : public Optimizer {
 public:
  /// @throws Error naming the option that is out of range.
  explicit Lamb(std::shared_ptr<Store> store, const LambOptions& options = {},
                std::vector<Group> groups = {});
  explicit Lamb(std::vector<Parameter> parameters, const LambOptions& options = {},
                std::vector<Group> groups = {})
      : Lamb(whole(std::move(parameters)), options, std::move(groups)) {}

 private:
  void prepare(const std::vector<Share>& shares) override;
  void update(const std::vector<Share>& shares, const StorePart& part) override;
  /// u of share i, by LibTorch's operators.
  at::Tensor direction(const Share& share, std::size_t i) const;
  LambElements elements(const Share& share, std::size_t i) const;
  /// The same on a device.
  void prepare_there(const std::vector<Share>& shares);
  void update_there(const std::vector<Share>& shares, const StorePart& part);
  double ratio(double value_norm, double direction_norm) const;

  LambOptions options_;
  const PerElement& first_;
  const PerElement& second_;
  std::vector<double> squares_;  // of each share's parameter and its direction, in this step
  at::Tensor ratios_;            // ‖w‖/‖u‖ of each place of sums, on a device
};

}  // namespace riesz
