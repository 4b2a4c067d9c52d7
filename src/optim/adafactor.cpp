// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adafactor.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/adafactor_pass.h"
#include "riesz/optim/global_sums.h"

namespace riesz {
namespace {

bool is_factored(const Parameter& parameter) { return parameter.shape().size() > 1; }

double root_mean_square(double sum, std::int64_t n) {
  return std::sqrt(sum) / std::sqrt(static_cast<double>(n));
}

}  // namespace

Adafactor::Adafactor(std::shared_ptr<Store> store, const AdafactorOptions& options, std::vector<Group> groups)
    : Optimizer("Adafactor", std::move(store), {options.learning_rate, options.weight_decay},
                std::move(groups)),
      options_(options),
      variance_(keep("variance", [](const Parameter& parameter) { return !is_factored(parameter); })) {
  RIESZ_CHECK(options.beta2_decay <= 0, "Adafactor: beta2_decay is ", options.beta2_decay,
              "; it must be at most 0");
  if (options.epsilon1) check_not_negative(name(), "epsilon1", *options.epsilon1);
  check_not_negative(name(), "epsilon2", options.epsilon2);
  RIESZ_CHECK(options.clip >= 1, "Adafactor: clip is ", options.clip, "; it must be at least 1");
  for (const Extent& share : extents()) {
    factors_.emplace_back();
    if (!is_factored(share.parameter)) continue;
    const Matrices m = Matrices::of(share.parameter.shape());
    factors_.back() = Factors{m, at::zeros({m.batch, m.rows}, share.options),
                              at::zeros({m.batch, m.columns}, share.options)};
  }
}

State Adafactor::more_kept() const {
  State result;
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    if (!factors_[i]) continue;
    const Parameter& parameter = extents()[i].parameter;
    const Partition& P = parameter.space().partition();
    const auto keep = [&](const char* key, const at::Tensor& factor) {
      const std::int64_t here = P.active() ? factor.numel() : 0;
      result.push_back({parameter.name(),
                        key,
                        Space(P, {factor.numel()}),
                        {0, here},
                        P.rank() == 0 && !extents()[i].copy_of,
                        factor.view({-1}).narrow(0, 0, here)});
    };
    keep("rows", factors_[i]->rows);
    keep("columns", factors_[i]->columns);
  }
  return result;
}

double Adafactor::weight() const { return std::pow(static_cast<double>(steps()), options_.beta2_decay); }

double Adafactor::epsilon1(std::size_t i) const {
  if (options_.epsilon1) return *options_.epsilon1;
  return extents()[i].options.dtype() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                     : std::numeric_limits<float>::epsilon();
}

std::vector<std::int64_t> Adafactor::begins_of_sums() const {
  std::vector<std::int64_t> begins{0};
  for (const auto& f : factors_)
    begins.push_back(begins.back() + 1 + (f ? f->rows.numel() + f->columns.numel() : 0));
  return begins;
}

std::vector<double> Adafactor::moments(const std::vector<Share>& shares) {
  const std::vector<std::int64_t> begins = begins_of_sums();
  at::Tensor sums = at::zeros({begins.back()}, at::kDouble);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!shares[i].counted) continue;
    double* mine = sums.mutable_data_ptr<double>() + begins[i];
    *mine = sum_of_squares(shares[i].value);
    if (factors_[i])
      adafactor_add_squares(shares[i].gradient, lines(shares[i], factors_[i]->shape), mine + 1,
                            mine + 1 + factors_[i]->rows.numel());
  }
  sums = global_sums(store()->partition(), sums);
  std::vector<double> value_squares;
  const std::vector<std::size_t> firsts = places_of_sums(extents());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::int64_t begin = begins[firsts[i]];
    value_squares.push_back(host_value(sums[begin], 0.0));
    if (const auto& f = factors_[i]) {
      const std::int64_t middle = begin + 1 + f->rows.numel();
      const auto mean = [](const at::Tensor& sum, const at::Tensor& like, std::int64_t n) {
        return sum.div(static_cast<double>(n)).to(like.scalar_type()).view(like.sizes());
      };
      f->rows.lerp_(mean(sums.slice(0, begin + 1, middle), f->rows, f->shape.columns), weight());
      f->columns.lerp_(mean(sums.slice(0, middle, middle + f->columns.numel()), f->columns, f->shape.rows),
                       weight());
    } else {
      at::Tensor variance = variance_.of(i);
      variance.lerp_(shares[i].gradient.square(), weight());
    }
  }
  return value_squares;
}

AdafactorElements Adafactor::elements(const Share& share, std::size_t i) const {
  const double epsilon = epsilon1(i);
  const auto& f = factors_[i];
  if (!f) return {share.value, share.gradient, variance_.of(i), {}, {}, {}, epsilon};
  const at::Tensor means = f->rows.mean(1, true).clamp_min_(epsilon);
  return {share.value, share.gradient, {}, lines(share, f->shape), f->rows.div(means).view({-1}),
          f->columns,  epsilon};
}

void Adafactor::prepare(const std::vector<Share>& shares) {
  if (shares.empty()) return;
  if (finite().defined()) return prepare_there(shares);
  value_squares_ = moments(shares);
  at::Tensor squares = at::zeros({static_cast<std::int64_t>(shares.size())}, at::kDouble);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].counted) squares.mutable_data_ptr<double>()[i] = adafactor_squares(elements(shares[i], i));
  }
  squares = global_sums(store()->partition(), squares);
  squares_.clear();
  for (const std::size_t first : places_of_sums(extents()))
    squares_.push_back(host_value(squares[static_cast<std::int64_t>(first)], 0.0));
}

void Adafactor::update(const std::vector<Share>& shares, const StorePart& part) {
  if (finite().defined()) return update_there(shares, part);
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Setting s = setting(i);
    const std::int64_t n = shares[i].parameter.numel();
    const double rate = std::min(s.learning_rate, 1 / std::sqrt(static_cast<double>(steps())));
    const double size = std::max(options_.epsilon2, root_mean_square(value_squares_[i], n));
    const double excess = std::max(1.0, root_mean_square(squares_[i], n) / options_.clip);
    adafactor_apply(elements(shares[i], i), 1 - s.learning_rate * s.weight_decay, rate * size / excess);
  }
}

}  // namespace riesz
