// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/late_number.h"

#include <ATen/core/grad_mode.h>

#include <mutex>
#include <optional>
#include <utility>

#include "riesz/comm/host_value.h"
#include "riesz/comm/late_value.h"

namespace riesz {

struct LateNumbers::State {
  std::mutex mutex;
  std::vector<double> values;
  std::optional<LateValue> coming;
  at::Tensor there;
  std::size_t size = 0;
};

LateNumbers::LateNumbers(std::vector<double> values) : state_(std::make_shared<State>()) {
  state_->size = values.size();
  state_->values = std::move(values);
}

LateNumbers::LateNumbers(const at::Tensor& x, double instead) : state_(std::make_shared<State>()) {
  const at::NoGradGuard no_gradient;
  const at::Tensor numbers = x.detach().to(at::kDouble).reshape({-1});
  state_->size = static_cast<std::size_t>(numbers.numel());
  if (numbers.is_cpu()) {
    state_->values = host_values(numbers, instead);
    return;
  }
  state_->there = numbers;
  state_->coming.emplace(numbers);
}

const std::vector<double>& LateNumbers::wait() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->coming) {
    state_->values = host_values(state_->coming->wait(), 0.0);
    state_->coming.reset();
  }
  return state_->values;
}

std::size_t LateNumbers::size() const { return state_->size; }
const at::Tensor& LateNumbers::there() const { return state_->there; }

LateNumber::LateNumber(const at::Tensor& x, double instead) {
  if (x.is_cpu())
    value_ = host_value(x.detach().to(at::kDouble), instead);
  else
    late_ = std::make_shared<const LateNumbers>(x);
}

}  // namespace riesz
