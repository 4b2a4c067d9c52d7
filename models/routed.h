// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What models with experts share.
#pragma once

#include <string>

#include "riesz/models/parts.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/experts/gate_balance.h"

namespace riesz::models {

/// The sizes that models with experts have beside others.
struct RoutedSizes {
  std::int64_t experts = 8;
  std::int64_t experts_per_token = 2;  ///< k: those with the largest router logits
  double balance_weight = 0.02;        ///< of the balance loss (`GateBalance`)
  bool balanced = false;               ///< does training add it? (output_router_logits)

  /// @throws Error unless each token can have as many experts.
  void check_experts(const std::string& model) const {
    check_sizes(model, {{"experts", experts}, {"experts_per_token", experts_per_token}});
    RIESZ_CHECK(experts_per_token <= experts, model, ": ", experts_per_token, " experts per token, of ",
                experts, "; give at most as many");
  }
  /// The letters e, of experts, and r, of the logits of their router, beside a model's others.
  void add_roles(Roles& roles) const {
    roles['e'] = {expert_role(), experts};
    roles['r'] = {Role::whole, experts};
  }
  GateOptions::Balance balance() const {
    return balanced ? GateOptions::Balance::over_gates : GateOptions::Balance::none;
  }
};

/// The stream, (B, T, C), and the balance of the gates so far: each block takes and returns both.
struct RoutedStream {
  Vector x;
  GateBalance balance;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(balance);
  }
};

/// The balance loss of all blocks, times its weight: a scalar. Part of the output layer, so that both lie on
/// a pipeline's last stage.
template <typename Sizes>
class RoutedBalance : public Part<RoutedBalance<Sizes>, Sizes> {
  using Base = Part<RoutedBalance<Sizes>, Sizes>;

 public:
  using Base::Base;
  Vector forward(const GateBalance& balance) {
    const Sizes& sizes = this->config;
    return sizes.balance_weight * balance.loss(sizes.mixtures(), sizes.experts_per_token);
  }
  /// The same, added to the gates' own losses, which have their weights already.
  Vector forward(const GateBalance& balance, const Vector& own) {
    return this->config.balanced ? own + forward(balance) : own;
  }
  std::string describe() const override { return "loss that balances experts"; }
};

}  // namespace riesz::models
