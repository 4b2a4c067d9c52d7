// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/two_moments.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// The operands of one fused pass.
struct Batch {
  Setting setting;
  std::vector<at::Tensor> values, gradients, first, second, steps;
};

/// The batch of a setting: the last one if it is its.
Batch& batch_of(std::vector<Batch>& batches, const Setting& setting, const at::Device& device) {
  for (Batch& batch : batches) {
    if (batch.setting == setting && batch.values.front().device() == device) return batch;
  }
  return batches.emplace_back(Batch{setting, {}, {}, {}, {}, {}});
}

}  // namespace

TwoMoments::TwoMoments(std::string name, std::shared_ptr<Store> store, const Setting& general, double epsilon,
                       Decay decay, std::vector<Group> groups)
    : Optimizer(std::move(name), std::move(store), general, std::move(groups)),
      epsilon_(epsilon),
      decay_(decay),
      first_(keep("first")),
      second_(keep("second")) {
  check_positive(this->name(), "epsilon", epsilon);
  check_fraction(this->name(), "beta1", *general.momentum);
  check_fraction(this->name(), "beta2", *general.beta2);
}

void TwoMoments::update(const std::vector<Share>& shares) {
  std::vector<Batch> batches;
  const auto alike = [this](std::size_t i, std::size_t j) { return setting(i) == setting(j); };
  for (const Run& run : runs(shares, alike)) {
    Batch& batch = batch_of(batches, setting(run.first), run.value.device());
    batch.values.push_back(run.value);
    batch.gradients.push_back(run.gradient);
    batch.first.push_back(first_.of(run.first, run.last));
    batch.second.push_back(second_.of(run.first, run.last));
    const at::TensorOptions options = at::TensorOptions(run.value.device()).dtype(at::kFloat);
    batch.steps.push_back(batch.steps.empty() ? at::full({}, static_cast<double>(steps()), options)
                                              : batch.steps.front());
  }
  const auto fused = [](auto&&... arguments) { at::_fused_adam_(arguments...); };
  const auto fused_w = [](auto&&... arguments) { at::_fused_adamw_(arguments...); };
  for (const Batch& b : batches) {
    const auto run = [&](const auto& pass) {
      pass(b.values, b.gradients, b.first, b.second, at::TensorList(), b.steps, b.setting.learning_rate,
           *b.setting.momentum, *b.setting.beta2, b.setting.weight_decay, epsilon_, false, false,
           std::optional<at::Tensor>(), std::optional<at::Tensor>());
    };
    if (decay_ == Decay::by_value)
      run(fused_w);
    else
      run(fused);
  }
}

}  // namespace riesz
