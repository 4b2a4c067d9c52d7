// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

#include <utility>

#include "riesz/optim/fused_pass.h"

namespace riesz {

TwoMoments::TwoMoments(std::string name, std::shared_ptr<Store> store, const Setting& general, double epsilon,
                       Decay decay, std::vector<Group> groups, LooksAt looks_at)
    : Optimizer(std::move(name), std::move(store), general, std::move(groups), looks_at),
      epsilon_(epsilon),
      decay_(decay),
      first_(keep("first")),
      second_(keep("second")) {
  check_positive(this->name(), "epsilon", epsilon);
  check_fraction(this->name(), "beta1", *general.momentum);
  check_fraction(this->name(), "beta2", *general.beta2);
}

void TwoMoments::update(const std::vector<Share>& shares, const StorePart& part) {
  const auto alike = [this](std::size_t i, std::size_t j) { return setting(i) == setting(j); };
  for (const Run& run : runs(shares, part, alike)) {
    const Setting s = setting(run.first);
    const at::Tensor step = at::full({}, static_cast<double>(steps()), run.value.options().dtype(at::kFloat));
    const std::vector<at::Tensor> operands{run.value, run.gradient, first_.of(run.first, run.last),
                                           second_.of(run.first, run.last)};
    fused_pass(operands, [&](const std::vector<at::Tensor>& x) {
      const auto update = [&](const auto& fused) {
        fused(at::TensorList(x[0]), at::TensorList(x[1]), at::TensorList(x[2]), at::TensorList(x[3]),
              at::TensorList(), at::TensorList(step), s.learning_rate, *s.momentum, *s.beta2, s.weight_decay,
              epsilon_, false, false, std::optional<at::Tensor>(), found_inf());
      };
      if (decay_ == Decay::by_value)
        update([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
      else
        update([](auto&&... arguments) { at::_fused_adam_(arguments...); });
    });
  }
}

Adam::Adam(std::shared_ptr<Store> store, const AdamOptions& options, std::vector<Group> groups)
    : TwoMoments("Adam", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_gradient, std::move(groups)) {}

AdamW::AdamW(std::shared_ptr<Store> store, const AdamWOptions& options, std::vector<Group> groups)
    : TwoMoments("AdamW", std::move(store),
                 {options.learning_rate, options.weight_decay, options.beta1, options.beta2}, options.epsilon,
                 Decay::by_value, std::move(groups)) {}

}  // namespace riesz
