// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of point-wise formulas, with bounds of what they round.
#include <ATen/Context.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/special_ndtr.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <type_traits>

#include "kernel_cases.h"
#include "riesz/comm/error.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/pointwise/record.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

/// f and its slope at x, and the errors of both in units of u.
struct Of {
  at::Tensor value, slope, value_error, slope_error;
};

/// x·s with s = σ(t(x)). An error of k·u of t, relative to it, is one of |t|·(1 − s)·k·u of s; σ's own is
/// 9·u. The slope is s + x·t′·s·(1 − s), where 1 − s has the error of s.
Of of_sigmoid(const at::Tensor& x, const at::Tensor& t, const at::Tensor& slope_of_t) {
  const at::Tensor s = at::sigmoid(t), rest = at::sigmoid(t.neg()), of_t = t.abs().mul(rest).mul(5);
  const at::Tensor of_s = of_t.add(9), product = x.mul(slope_of_t).mul(s).abs();
  const at::Tensor of_product = rest.mul(of_s.add(12)).add(s.mul(of_s)).mul(product);
  return {x.mul(s), s.add(x.mul(slope_of_t).mul(s).mul(rest)), x.mul(s).abs().mul(of_s.add(1)),
          s.mul(of_s).add(of_product)};
}

Of of_gelu(const at::Tensor& x) {
  constexpr double kTwiceRoot2OverPi = 1.59576912160573071;
  const at::Tensor square = x.square();
  return of_sigmoid(x, x.mul(square.mul(0.044715).add(1)).mul(kTwiceRoot2OverPi),
                    square.mul(3 * 0.044715).add(1).mul(kTwiceRoot2OverPi));
}

Of of_silu(const at::Tensor& x) { return of_sigmoid(x, x, at::ones_like(x)); }

/// Φ is right to 6 + x² units of the last place, which are twice as many of u.
Of of_gelu_exact(const at::Tensor& x) {
  const at::Tensor cdf = at::special_ndtr(x), of_cdf = x.square().add(6).mul(2);
  const at::Tensor product = x.mul(x.square().mul(-0.5).exp()).div(std::sqrt(2 * std::numbers::pi));
  return {x.mul(cdf), cdf.add(product), x.mul(cdf).abs().mul(of_cdf.add(1)),
          cdf.mul(of_cdf).add(product.abs().mul(of_cdf))};
}

Of of_relu(const at::Tensor& x) {
  const at::Tensor none = at::zeros_like(x);
  return {x.relu(), x.gt(0).to(at::kDouble), none, none};
}

Of of_twice(const at::Tensor& x) {
  const at::Tensor none = at::zeros_like(x);
  return {x.mul(2), none.add(2), none, none};
}

using Bounds = Of (*)(const at::Tensor& x);
enum class Form { alone, of_sum, gated };

struct Operands {
  Tensors inputs;
  at::Tensor ybar;

  Operands(at::ScalarType type, const std::vector<std::vector<std::int64_t>>& sizes) {
    at::manual_seed(4);
    for (const auto& each : sizes) inputs.push_back(at::randn(each, at::kDouble).mul(2).to(type));
    ybar = at::randn(sizes[0], at::kDouble).to(type);
  }
};

/// Of y and of each input's gradient. Of an input that is broadcast, the gradient is a sum.
Tensors bounds_of(const Operands& of, Form form, Bounds f) {
  const double u = rounding_in(of.ybar.scalar_type());
  Tensors in;
  for (const at::Tensor& x : of.inputs) in.push_back(x.to(at::kDouble));
  const at::Tensor ybar = of.ybar.to(at::kDouble);
  const Of at_x = f(form == Form::of_sum ? in[0].add(in[1]) : in[0]);
  Tensors all, errors;  // gradients, with their errors
  if (form == Form::gated) {
    all = {at_x.value.mul(in[1]), ybar.mul(in[1]).mul(at_x.slope), ybar.mul(at_x.value)};
    errors = {in[1].mul(at_x.value_error), ybar.mul(in[1]).mul(at_x.slope_error), ybar.mul(at_x.value_error)};
  } else {
    all = {at_x.value, ybar.mul(at_x.slope)};
    errors = {at_x.value_error, ybar.mul(at_x.slope_error)};
    if (form == Form::of_sum) all.push_back(all[1]), errors.push_back(errors[1]);
  }
  Tensors bounds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    at::Tensor bound = errors[i].abs().add(all[i].abs(), 3).mul(2 * u);
    const at::Tensor& like = i == 0 ? of.ybar : of.inputs[i - 1];
    const auto terms = static_cast<double>(all[i].numel()) / static_cast<double>(like.numel());
    if (terms > 1) bound = bound.add(all[i].abs(), 2 * terms * u).sum_to_size(like.sizes());
    bounds.push_back(bound.contiguous());
  }
  return bounds;
}

Tensors applied(const detail::Formula& formula, const Operands& of, at::Device device) {
  Tensors xs;
  for (const at::Tensor& x : of.inputs) xs.push_back(x.to(device).clone().requires_grad_());
  const at::Tensor y = detail::recorded_pointwise(formula, xs);
  // Nobody else holds ȳ then, so a gradient may be written over it.
  y.mul(of.ybar.to(device)).sum().backward();
  Tensors all{y.detach()};
  for (const at::Tensor& x : xs) all.push_back(x.grad());
  return all;
}

}  // namespace

/// Those of the library, with an operand that is broadcast, and one of a user, which no library has.
std::vector<KernelCase> formula_cases(at::ScalarType type) {
  std::vector<KernelCase> all;
  const auto add = [&](const std::string& name, const detail::Formula& formula, Form form, Bounds bounds,
                       const std::vector<std::vector<std::int64_t>>& sizes, bool compiled) {
    const auto of = std::make_shared<const Operands>(type, sizes);
    all.push_back({concat(name, ", ", type),
                   {{"OfElement", compiled ? 2 : 0}},
                   [=](at::Device device) { return applied(formula, *of, device); },
                   [=] { return bounds_of(*of, form, bounds); }});
  };
  const auto of = [&](const std::string& name, const auto& f, Bounds bounds, bool compiled) {
    using F = std::decay_t<decltype(f)>;
    const std::vector<std::int64_t> sizes{3, 5, 7};
    add(name, detail::formula<1>("alone", f), Form::alone, bounds, {sizes}, compiled);
    const auto sum = detail::formula<2>("sum", detail::OfSum<F>{f});
    add(name + " of x + b", sum, Form::of_sum, bounds, {sizes, {7}}, compiled);
    add(name + " of x + a scalar", sum, Form::of_sum, bounds, {sizes, {1, 1, 1}}, compiled);
    add(name + ", gated", detail::formula<2>("gated", detail::Gated<F>{f}), Form::gated, bounds,
        {sizes, sizes}, compiled);
  };
  of("gelu", detail::GeluFormula{}, of_gelu, true);
  of("exact gelu", detail::GeluExactFormula{}, of_gelu_exact, true);
  of("relu", detail::ReluFormula{}, of_relu, true);
  of("silu", detail::SiluFormula{}, of_silu, true);
  of(
      "twice", [](auto x) { return x * 2.0; }, of_twice, false);
  // Broadcast in another dim than the first ones: by operators.
  add("silu of x + a column", detail::formula<2>("sum", detail::OfSum<detail::SiluFormula>{}), Form::of_sum,
      of_silu, {{3, 5, 7}, {5, 1}}, false);
  return all;
}

}  // namespace riesz::testing
