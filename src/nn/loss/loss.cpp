// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/poisson_nll_loss.h>
#include <ATen/ops/where.h>

#include <functional>
#include <limits>
#include <string>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/nn/loss/shares.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/extremes.h"
#include "riesz/primitives/check_input.h"

namespace riesz {
namespace {

void check_probabilities(const Vector& p) {
  const bool any = p.space().partition().active() && p.space().numel() > 0;
  detail::check_extremes(p, [any](const detail::Extremes& of_all) {
    const auto [least, greatest] = of_all;
    RIESZ_CHECK(!any || (least >= 0 && greatest <= 1), "bce_loss: the probability ",
                least >= 0 ? greatest : least,
                " is not between 0 and 1; bce_with_logits_loss takes any number");
  });
}

at::Tensor bce_of_good(const at::Tensor& p, const at::Tensor& y) {
  return at::binary_cross_entropy(p, y, {}, at::Reduction::Sum);
}

/// The same, NaN with a p that is not between 0 and 1, of which a device's kernel would end the process.
at::Tensor bce_or_nan(const at::Tensor& p, const at::Tensor& y) {
  const at::Tensor good = at::logical_and(p.ge(0), p.le(1));
  const at::Tensor sum = bce_of_good(at::where(good, p, 0.5), y);
  return sum.mul(at::where(good.all(), 1.0, std::numeric_limits<double>::quiet_NaN()).to(sum.scalar_type()));
}

const Dispatched<at::Tensor(const at::Tensor&, const at::Tensor&)> bce_sum{bce_of_good, bce_or_nan};

/// `local_sum` is the scalar sum over a worker's elements of prediction and target.
Loss element_loss(const std::string& what, const Vector& prediction, const Vector& target,
                  const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& local_sum) {
  const Space& S = prediction.space();
  RIESZ_CHECK(S == target.space(), what, " needs prediction and target in one space, not\n  ", to_string(S),
              "\n  ", to_string(target.space()), "\n", conversion_hint(S, target.space()));
  detail::check_counts_once(what, S);
  check_one_device(what.c_str(), prediction, target);
  detail::check_operand(what + ": the target", target);
  const at::Tensor x = detail::to_accumulation_type(prediction.local());
  const at::Tensor y = detail::to_accumulation_type(target.local());
  const at::ScalarType type = c10::promoteTypes(x.scalar_type(), y.scalar_type());
  const bool constant = prediction.is_constant() && target.is_constant();
  return {detail::add_shares(S, {}, local_sum(x.to(type), y.to(type)), constant), S.numel()};
}

}  // namespace

LossCount::operator std::int64_t() const { return there_.defined() ? host_value(there_, number_) : number_; }

Vector LossCount::divide(const Vector& x) const {
  if (!there_.defined()) return (1.0 / static_cast<double>(number_ > 0 ? number_ : 1)) * x;
  const at::Tensor factor = there_.clamp_min(1).to(at::kDouble).reciprocal();
  return {x.space(), x.local().mul(factor.to(x.local().scalar_type())), x.is_constant()};
}

Loss l1_loss(const Vector& x, const Vector& y) {
  return element_loss("l1_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::l1_loss(a, b, at::Reduction::Sum);
  });
}

Loss mse_loss(const Vector& x, const Vector& y) {
  return element_loss("mse_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::mse_loss(a, b, at::Reduction::Sum);
  });
}

Loss bce_loss(const Vector& p, const Vector& y) {
  return element_loss("bce_loss", p, y, [&p](const at::Tensor& a, const at::Tensor& b) {
    check_probabilities(p);
    return bce_sum(a.device(), a, b);
  });
}

Loss bce_with_logits_loss(const Vector& x, const Vector& y) {
  return element_loss("bce_with_logits_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::binary_cross_entropy_with_logits(a, b, {}, {}, at::Reduction::Sum);
  });
}

Loss kl_div_loss(const Vector& x, const Vector& y, bool log_target) {
  return element_loss("kl_div_loss", x, y, [log_target](const at::Tensor& a, const at::Tensor& b) {
    return at::kl_div(a, b, at::Reduction::Sum, log_target);
  });
}

Loss poisson_nll_loss(const Vector& x, const Vector& y, const PoissonNllOptions& options) {
  return element_loss("poisson_nll_loss", x, y, [&options](const at::Tensor& a, const at::Tensor& b) {
    return at::poisson_nll_loss(a, b, options.log_input, options.full, options.epsilon, at::Reduction::Sum);
  });
}

}  // namespace riesz
