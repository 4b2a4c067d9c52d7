// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/optim/adam.h"
#include "riesz/optim/one_bit_mean.h"

namespace riesz {

struct OneBitAdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< of the parameters that decay
  std::int64_t freeze_step = 100000;
};

/// 1-bit Adam (Tang et al., 2102.02888): AdamW for `freeze_step` steps. Then the variance is frozen, and
/// gradients are no longer summed over the fibre of data-parallel workers. Each worker moves its momentum by
/// its own term, m ← β₁·m + (1 − β₁)·p·g. The momenta are averaged at one bit an element (OneBitMean), and w
/// ← w − η·(m̂/(√v̂ + ε) + λ·w), with v̂ as of the freeze. An element that no gradient has reached by then
/// has variance 0, and m moves it no more: one bit cannot say 0, and its m̂/ε would be without bound. A step
/// after the freeze is collective over the fibre, as OneBitMean; earlier steps move nothing. Where workers
/// update parts (ZeRO's stage 1), values and variances are parts and momenta are whole. The first step after
/// the freeze gathers the parts of the momenta. That takes an AllReduce of 2n elements for a parameter of n,
/// and one of a number for each parameter.
class OneBitAdam : public TwoMoments {
 public:
  /// `fibre`: the workers through this one that divide the batch, such as mesh.along("dp"); each holds whole
  /// gradients. The store must be able to leave them unreduced, like Zero in stages 0 and 1.
  /// @throws Error naming the option that is out of range, or a parameter that does not lie so.
  OneBitAdam(std::shared_ptr<Store> store, const Partition& fibre, const OneBitAdamOptions& options = {},
             std::vector<Group> groups = {});

  /// True until the freeze. After it gradients are this worker's own terms; the gradient is their sum over
  /// the fibre.
  bool wants_reduced_gradients() const override;
  void loaded() override;

 private:
  void prepare(const std::vector<Share>& shares) override;
  void update(const std::vector<Share>& shares, const StorePart& part) override;
  void update_there(const std::vector<Share>& shares, const StorePart& part);
  State more_kept() const override;
  std::int64_t derived_bytes() const override;
  OneBitMean mean_of(const Partition& fibre) const;
  at::Tensor over_fibre(const at::Tensor& terms) const;
  void check_complete() const;
  void bring_together();
  at::Tensor momentum(std::size_t i) const { return updates_parts() ? momenta_[i] : first().of(i); }
  bool updates_parts() const { return store()->holds() != Holds::whole; }

  Partition fibre_;
  std::int64_t freeze_step_;
  OneBitMean mean_;
  // Where workers update parts, of whole local parts; made anew from the parts while `together_` is not said.
  std::vector<at::Tensor> momenta_;
  std::vector<at::Tensor> averaged_;      // on a device: of each share, between prepare and update
  std::vector<at::Tensor> has_variance_;  // else the element moves no more
  bool together_ = false;
};

}  // namespace riesz
