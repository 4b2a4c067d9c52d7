// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/optimizer.h"

namespace riesz {

/// The common part of Adam and AdamW: m ← β₁·m + (1 − β₁)·g and v ← β₂·v + (1 − β₂)·g², and one fused pass.
class TwoMoments : public Optimizer {
 protected:
  enum class Decay { by_gradient, by_value };

  TwoMoments(std::string name, std::shared_ptr<Store> store, const Setting& general, double epsilon,
             Decay decay, std::vector<Group> groups, LooksAt looks_at = LooksAt::elements);

  void update(const std::vector<Share>& shares, const StorePart& part) override;
  const PerElement& first() const { return first_; }
  const PerElement& second() const { return second_; }
  double epsilon() const { return epsilon_; }

 private:
  double epsilon_;
  Decay decay_;
  const PerElement& first_;
  const PerElement& second_;
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< of the parameters that decay
};

/// Adam (Kingma and Ba, 1412.6980), as torch.optim.Adam: its decay adds λ·w to the gradient; then
/// w ← w − η·m̂/(√v̂ + ε). Element by element, in one fused pass; the update moves nothing.
class Adam : public TwoMoments {
 public:
  /// @throws Error naming the option that is out of range, or a parameter given twice.
  explicit Adam(std::shared_ptr<Store> store, const AdamOptions& options = {},
                std::vector<Group> groups = {});
  explicit Adam(std::vector<Parameter> parameters, const AdamOptions& options = {},
                std::vector<Group> groups = {})
      : Adam(whole(std::move(parameters)), options, std::move(groups)) {}
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< of the parameters that decay
};

/// AdamW (Loshchilov and Hutter, 1711.05101), as torch.optim.AdamW, in one fused pass: w ← (1 − η·λ)·w, then
/// w ← w − η·m̂/(√v̂ + ε). It works element by element, so the update moves nothing. Replicas whose gradients
/// agree bit for bit stay equal.
class AdamW : public TwoMoments {
 public:
  /// @throws Error naming the option that is out of range, or a parameter given twice.
  explicit AdamW(std::shared_ptr<Store> store, const AdamWOptions& options = {},
                 std::vector<Group> groups = {});
  explicit AdamW(std::vector<Parameter> parameters, const AdamWOptions& options = {},
                 std::vector<Group> groups = {})
      : AdamW(whole(std::move(parameters)), options, std::move(groups)) {}
};

}  // namespace riesz
