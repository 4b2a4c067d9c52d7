// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/loss_scale.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/optim/finite.h"

namespace riesz {

LossScale::LossScale(const LossScaleOptions& options)
    : options_(options), scale_(options.initial), hysteresis_(options.hysteresis) {
  RIESZ_CHECK(options.least > 0 && options.initial >= options.least, "LossScale: an initial scale of ",
              options.initial, " and a least one of ", options.least, "; needs initial >= least > 0");
  RIESZ_CHECK(options.factor > 1, "LossScale: a factor of ", options.factor, "; it must be above 1");
  RIESZ_CHECK(options.window > 0, "LossScale: a window of ", options.window, " steps; it must be above 0");
  RIESZ_CHECK(options.hysteresis > 0, "LossScale: a hysteresis of ", options.hysteresis,
              "; it must be above 0");
}

void LossScale::set_value(double scale) {
  RIESZ_CHECK(scale >= options_.least, "LossScale: a scale of ", scale, "; the least is ", options_.least);
  come_home();
  scale_ = scale;
}

State LossScale::state(const Partition& P) {
  come_home();
  const std::string name = "loss_scale";
  State state{view_of(name, "value", P, scale_), view_of(name, "hysteresis", P, hysteresis_),
              view_of(name, "clean", P, clean_), view_of(name, "skipped", P, skipped_)};
  const auto goes_on = [] {};  // it is at home, as long as there is no step
  const auto written = std::make_shared<const Written>(Written{goes_on, goes_on, [this] { come_home(); }});
  for (StateView& view : state) view.written = written;
  return state;
}

bool LossScale::unscale(Store& store) {
  const at::NoGradGuard no_gradient;
  const std::vector<Share> shares = store.shares();
  if (shares.empty()) return true;
  check_takes_part("LossScale", store);
  if (on_a_device(shares)) {
    unscale_there(store, shares);
    return true;
  }
  const bool finite = all_finite(store.partition(), shares);
  last_skipped_ = finite ? 0 : 1;
  if (finite) {
    for (const Share& share : shares) share.arrived().mul_(1 / scale_);
    if (store.reduced() && scale_ >= 1) store.know_finite(shares);
    rise();
  } else {
    ++skipped_;
    fall();
  }
  return finite;
}

Vector LossScale::scaled(const Vector& loss, double factor) const {
  if (!there_) return (scale_ * factor) * loss;
  const at::Tensor by = there_->scale.mul(factor).to(loss.local().scalar_type());
  return loss * Vector(loss.space(), by.expand(loss.local().sizes()));
}

at::Tensor LossScale::unscaled(const at::Tensor& x) const {
  return there_ ? x.div(there_->scale) : x.div(scale_);
}

void LossScale::go_to(at::Device device) {
  if (there_) return;
  const auto number = [&](auto x, at::ScalarType type) {
    return at::full({}, x, at::device(device).dtype(type));
  };
  there_ = There{number(scale_, at::kDouble), number(hysteresis_, at::kLong), number(clean_, at::kLong),
                 number(skipped_, at::kLong)};
}

void LossScale::come_home() const {
  if (!there_) return;
  const There from = *std::exchange(there_, std::nullopt);
  const std::vector<std::int64_t> counts =
      host_values<std::int64_t>(at::stack({from.hysteresis, from.clean, from.skipped}), 0);
  scale_ = host_value(from.scale, scale_);
  hysteresis_ = counts[0];
  clean_ = counts[1];
  skipped_ = counts[2];
}

/// In one pass: divides, and looks whether all are finite.
void LossScale::unscale_there(Store& store, const std::vector<Share>& shares) {
  const at::Device device = shares.front().gradient.device();
  go_to(device);
  std::vector<at::Tensor> singles, doubles;
  for (const Share& share : shares) {
    const at::Tensor& x = share.arrived();
    if (x.numel() > 0) (x.scalar_type() == at::kDouble ? doubles : singles).push_back(x);
  }
  at::Tensor not_finite = at::zeros({1}, at::device(device).dtype(at::kFloat));
  const at::Tensor by = there_->scale.reciprocal().view({1});
  if (!singles.empty())
    at::_amp_foreach_non_finite_check_and_unscale_(singles, not_finite, by.to(at::kFloat));
  if (!doubles.empty()) {  // the factor of the pass is fp32
    at::_amp_foreach_non_finite_check_and_unscale_(doubles, not_finite, at::ones_like(not_finite));
    at::_foreach_mul_(doubles, by.squeeze());
  }
  const at::Tensor finite = all_over(store.partition(), not_finite.eq(0));
  store.skip_if(finite.logical_not());
  // A scale below 1 multiplies: what was finite need not be so now.
  if (store.reduced() && options_.least >= 1) store.know_finite(shares);
  update_there(finite);
}

/// As `rise` and `fall`.
void LossScale::update_there(const at::Tensor& finite) {
  There& t = *there_;
  const at::Tensor not_finite = finite.logical_not();
  last_skipped_ = LateNumber(not_finite);
  t.skipped = t.skipped.add(not_finite);
  if (!options_.dynamic) {
    t.clean = at::where(finite, t.clean, 0);
    return;
  }
  t.clean = at::where(finite, t.clean.add(1), 0);
  const at::Tensor rises = finite.logical_and(t.clean.remainder(options_.window).eq(0));
  const at::Tensor spends = not_finite.logical_and(t.hysteresis.gt(1));
  const at::Tensor falls = not_finite.logical_and(t.hysteresis.le(1));
  const at::Tensor lower = t.scale.div(options_.factor).clamp_min(options_.least);
  t.scale = at::where(rises, t.scale.mul(options_.factor), at::where(falls, lower, t.scale));
  t.hysteresis = at::where(rises, options_.hysteresis, t.hysteresis.sub(spends.to(at::kLong)));
}

void LossScale::fall() {
  clean_ = 0;
  if (!options_.dynamic) return;
  if (hysteresis_ > 1)
    --hysteresis_;
  else
    scale_ = std::max(scale_ / options_.factor, options_.least);
}

void LossScale::rise() {
  if (!options_.dynamic || ++clean_ % options_.window != 0) return;
  hysteresis_ = options_.hysteresis;
  scale_ *= options_.factor;
}

}  // namespace riesz
