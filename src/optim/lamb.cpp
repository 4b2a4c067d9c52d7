// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lamb.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/global_sums.h"
#include "riesz/optim/lamb_pass.h"

namespace riesz {

Lamb::Lamb(std::shared_ptr<Store> store, const LambOptions& options, std::vector<Group> groups)
    : Optimizer("Lamb", std::move(store),
                {options.learning_rate, options.weight_decay, options.beta1, options.beta2},
                std::move(groups)),
      options_(options),
      first_(keep("first")),
      second_(keep("second")) {
  check_positive(name(), "epsilon", options.epsilon);
  check_fraction(name(), "beta1", options.beta1);
  check_fraction(name(), "beta2", options.beta2);
  RIESZ_CHECK(options.least_ratio >= 0 && options.least_ratio <= options.greatest_ratio,
              "Lamb: a ratio from ", options.least_ratio, " to ", options.greatest_ratio,
              "; needs 0 <= least <= greatest");
}

LambElements Lamb::elements(const Share& share, std::size_t i) const {
  const Setting s = setting(i);
  const auto t = static_cast<double>(steps());
  return {.value = share.value,
          .first = first_.of(i),
          .second = second_.of(i),
          .first_scale = 1 / (1 - std::pow(*s.momentum, t)),
          .second_scale = 1 / std::sqrt(1 - std::pow(*s.beta2, t)),
          .epsilon = options_.epsilon,
          .weight_decay = s.weight_decay};
}

at::Tensor Lamb::direction(const Share& share, std::size_t i) const {
  const LambElements of = elements(share, i);
  at::Tensor u = of.second.sqrt().mul_(of.second_scale).add_(of.epsilon);
  u = u.reciprocal_().mul_(of.first).mul_(of.first_scale);
  if (of.weight_decay != 0) u.add_(of.value, of.weight_decay);
  return u;
}

double Lamb::ratio(double value_norm, double direction_norm) const {
  if (!(value_norm > 0) || !(direction_norm > 0)) return 1;
  return std::clamp(value_norm / direction_norm, options_.least_ratio, options_.greatest_ratio);
}

void Lamb::prepare(const std::vector<Share>& shares) {
  if (shares.empty()) return;
  if (finite().defined()) return prepare_there(shares);
  at::Tensor squares = at::zeros({2 * static_cast<std::int64_t>(shares.size())}, at::kDouble);
  auto* square = squares.mutable_data_ptr<double>();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    const Setting s = setting(i);
    const LambSquares mine = lamb_moments(elements(share, i), share.gradient, *s.momentum, *s.beta2);
    if (share.counted) square[2 * i] = mine.value, square[2 * i + 1] = mine.direction;
  }
  squares = global_sums(store()->partition(), squares);
  squares_.clear();
  for (const std::size_t first : places_of_sums(extents())) {
    squares_.push_back(host_value(squares[2 * static_cast<std::int64_t>(first)], 0.0));
    squares_.push_back(host_value(squares[2 * static_cast<std::int64_t>(first) + 1], 0.0));
  }
}

void Lamb::prepare_there(const std::vector<Share>& shares) {
  const at::Tensor none = at::zeros({}, finite().options().dtype(at::kDouble));
  std::vector<at::Tensor> squares;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    const Setting s = setting(i);
    const at::Tensor first = first_.of(i);
    const at::Tensor second = second_.of(i);
    write(first, first.mul(*s.momentum).add_(share.gradient, 1 - *s.momentum));
    write(second, second.mul(*s.beta2).addcmul_(share.gradient, share.gradient, 1 - *s.beta2));
    squares.push_back(share.counted ? sum_of_squares_there(share.value) : none);
    squares.push_back(share.counted ? sum_of_squares_there(direction(share, i)) : none);
  }
  const at::Tensor norms = global_sums(store()->partition(), at::stack(squares)).sqrt().view({-1, 2});
  const at::Tensor value = norms.select(1, 0);
  const at::Tensor direction = norms.select(1, 1);
  const at::Tensor ratio = value.div(direction).clamp(options_.least_ratio, options_.greatest_ratio);
  ratios_ = at::where(value.gt(0).logical_and(direction.gt(0)), ratio, 1);
}

void Lamb::update_there(const std::vector<Share>& shares, const StorePart& part) {
  const std::vector<std::size_t> places = places_of_sums(extents());
  for (std::size_t i = part.first; i < part.last; ++i) {
    const at::Tensor& value = shares[i].value;
    const at::Tensor step = ratios_[static_cast<std::int64_t>(places[i])].mul(setting(i).learning_rate);
    write(value, value.sub(direction(shares[i], i).mul_(step)));
  }
}

void Lamb::update(const std::vector<Share>& shares, const StorePart& part) {
  if (finite().defined()) return update_there(shares, part);
  for (std::size_t i = part.first; i < part.last; ++i) {
    const double step =
        setting(i).learning_rate * ratio(std::sqrt(squares_[2 * i]), std::sqrt(squares_[2 * i + 1]));
    lamb_apply(elements(shares[i], i), step);
  }
}

}  // namespace riesz
