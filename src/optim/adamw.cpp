// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <set>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

void check_decay(const char* name, double beta) {
  RIESZ_CHECK(beta >= 0 && beta < 1, "AdamW: ", name, " is ", beta, "; it must be at least 0 and below 1");
}

}  // namespace

AdamW::AdamW(std::vector<Parameter> parameters, const AdamWOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  RIESZ_CHECK(options.epsilon > 0, "AdamW: epsilon is ", options.epsilon, "; it must be above 0");
  check_decay("beta1", options.beta1);
  check_decay("beta2", options.beta2);
  std::set<const void*> known;
  for (const Parameter& parameter : parameters_) {
    const at::Tensor local = parameter.value().local();
    RIESZ_CHECK(known.insert(local.unsafeGetTensorImpl()).second, "AdamW: the parameter ", parameter.name(),
                " is given twice, so it would step twice");
    State state;
    state.first = at::zeros_like(local);
    state.second = at::zeros_like(local);
    state.steps = at::scalar_tensor(0, at::kFloat);
    states_.push_back(std::move(state));
  }
}

void AdamW::step() {
  const at::NoGradGuard no_gradient;
  step_those(true);
  step_those(false);
}

void AdamW::step_those(bool decaying) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first;
  std::vector<at::Tensor> second;
  std::vector<at::Tensor> steps;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].decays() != decaying) continue;
    values.push_back(parameters_[i].value().local().detach());
    gradients.push_back(parameters_[i].gradient().local());
    first.push_back(states_[i].first);
    second.push_back(states_[i].second);
    steps.push_back(states_[i].steps.add_(1));
  }
  if (values.empty()) return;
  at::_fused_adamw_(values, gradients, first, second, {}, steps, options_.learning_rate, options_.beta1,
                    options_.beta2, decaying ? options_.weight_decay : 0.0, options_.epsilon, false, false);
}

void AdamW::zero_gradients() {
  for (Parameter& parameter : parameters_) parameter.zero_gradient();
}

}  // namespace riesz
