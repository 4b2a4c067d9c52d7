// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/optimizer.h"

namespace riesz {

/// What Adam and AdamW have in common: m ← β₁·m + (1 − β₁)·g and v ← β₂·v + (1 − β₂)·g², and one fused pass.
class TwoMoments : public Optimizer {
 protected:
  enum class Decay { by_gradient, by_value };

  TwoMoments(std::string name, std::shared_ptr<Store> store, const Setting& general, double epsilon,
             Decay decay, std::vector<Group> groups);

  void update(const std::vector<Share>& shares) override;
  const PerElement& first() const { return first_; }
  const PerElement& second() const { return second_; }
  double epsilon() const { return epsilon_; }

 private:
  double epsilon_;
  Decay decay_;
  const PerElement& first_;
  const PerElement& second_;
};

}  // namespace riesz
