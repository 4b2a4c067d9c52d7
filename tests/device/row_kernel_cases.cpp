// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The kernels of rows, with bounds of what their formulas round.
#include <ATen/Context.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "kernel_cases.h"
#include "riesz/comm/error.h"
#include "riesz/nn/loss/exp_rows.h"
#include "riesz/nn/norm/norm_rows.h"
#include "riesz/nn/norm/row_norm.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr double kEpsilon = 1e-5;

struct NormOperands {
  at::Tensor x, ybar, weight, bias;  // bias undefined: RMSNorm

  NormOperands(at::ScalarType type, const KernelSizes& sizes, bool centred) {
    at::manual_seed(2);
    const auto drawn = [&](at::IntArrayRef shape) { return at::randn(shape, at::kDouble).to(type); };
    x = drawn({sizes.rows, sizes.width}), ybar = drawn(x.sizes());
    weight = drawn({sizes.width});
    if (centred) bias = drawn({sizes.width});
  }
};

/// Of y, x̄, w̄ and, if centred, b̄, without their rounding to a type. With h = (x − mean)·scale, its error e
/// comes from the sums of the mean and of the squares; v = ȳ·w. A row's element is in at most n/32 + 12
/// additions: a CPU adds 8 lanes or more, in a tree at the end, and a GPU 64 threads or more.
Tensors norm_bounds(const NormOperands& of) {
  const double u = rounding_in(of.x.scalar_type());
  const bool centred = of.bias.defined();
  const at::Tensor x = of.x.to(at::kDouble), ybar = of.ybar.to(at::kDouble), w = of.weight.to(at::kDouble);
  const auto m = static_cast<double>(x.size(0)), n = static_cast<double>(x.size(1)), D = n / 32 + 12;
  const auto mean_of = [](const at::Tensor& terms) { return terms.mean(-1, true); };
  const at::Tensor deviations = centred ? x.sub(mean_of(x)) : x;
  const at::Tensor scale = mean_of(deviations.square()).add(kEpsilon).rsqrt();
  const at::Tensor h = deviations.mul(scale);
  const at::Tensor of_mean = centred ? mean_of(x.abs()).mul(D * u).mul(scale) : at::zeros_like(scale);
  const at::Tensor e = h.abs().mul(u * (D / 2 + 8)).add(of_mean).add(h.abs().mul(of_mean.square()));
  at::Tensor of_y = e.mul(w.abs()).add(h.mul(w).abs(), 2 * u);
  if (centred) of_y = of_y.add(of.bias.to(at::kDouble).abs(), u);

  const at::Tensor v = ybar.mul(w), mean_uv = mean_of(h.mul(v));
  const at::Tensor mean_v = centred ? mean_of(v) : at::zeros_like(mean_uv);
  const at::Tensor of_mean_uv = mean_of(v.abs().mul(e)).add(mean_of(h.mul(v).abs()), (D + 3) * u);
  const at::Tensor of_mean_v = centred ? mean_of(v.abs()).mul((D + 1) * u) : at::zeros_like(mean_uv);
  const at::Tensor rest = v.sub(mean_v).sub(h.mul(mean_uv));
  const at::Tensor of_rest = v.abs()
                                 .add(mean_v.abs())
                                 .mul(4 * u)
                                 .add(of_mean_v)
                                 .add(e.mul(mean_uv.abs()))
                                 .add(h.abs().mul(of_mean_uv))
                                 .add(h.mul(mean_uv).abs(), 3 * u);
  const at::Tensor of_x = of_rest.mul(scale).add(rest.mul(scale).abs(), u * (D / 2 + 8));

  // Rows are added in order in parts of at least 16 rows, up to 512 parts.
  const double rows = std::min(m, m / 32 + 608);
  const at::Tensor of_weight =
      ybar.abs().mul(e.add(h.abs(), 2 * u)).sum(0).add(ybar.mul(h).abs().sum(0), rows * u);
  Tensors all{of_y, of_x, of_weight};
  if (centred) all.push_back(ybar.abs().sum(0).mul(rows * u));
  for (at::Tensor& each : all) each = each.mul(2).contiguous();
  return all;
}

/// Through autograd, as a layer does.
Tensors normed(const NormOperands& of, at::Device device) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(device).clone().requires_grad_(); };
  const at::Tensor x = leaf(of.x), w = leaf(of.weight), b = of.bias.defined() ? leaf(of.bias) : at::Tensor();
  const at::Tensor y = detail::row_norm(x, w, b, kEpsilon);
  y.backward(of.ybar.to(device));
  Tensors all{y.detach(), x.grad(), w.grad()};
  if (b.defined()) all.push_back(b.grad());
  return all;
}

/// The output again, and where it is not the first one's bits; and x̄ without the weight's gradient.
Tensors normed_again(const NormOperands& of, at::Device device) {
  const auto floats = [&](const at::Tensor& w) {
    return w.defined() ? w.to(device, at::kFloat) : at::Tensor();
  };
  const at::Tensor x = of.x.to(device), w = floats(of.weight), b = floats(of.bias);
  const detail::NormedRows rows = detail::norm_rows(x, w, b, kEpsilon);
  const at::Tensor again = detail::norm_rows_again(x, w, b, {{}, rows.mean, rows.scale});
  const at::Tensor xbar = detail::norm_rows_gradients(of.ybar.to(device), x, w, rows, false).x;
  const at::Tensor both = detail::norm_rows_gradients(of.ybar.to(device), x, w, rows, true).x;
  return {again, again.ne(rows.y).sum(), xbar, xbar.ne(both).sum()};
}

struct LogitOperands {
  at::Tensor x, target, greatest;

  LogitOperands(at::ScalarType type, const KernelSizes& sizes) {
    at::manual_seed(3);
    x = at::randn({sizes.row_count, sizes.vocabulary}, at::kDouble).mul(3).to(type);
    x[0][1] = -std::numeric_limits<double>::infinity();
    x[1][2] = std::numeric_limits<double>::quiet_NaN();
    x[2][sizes.vocabulary - 1] = 16;                                               // above all others
    target = at::arange(sizes.row_count, at::kLong).mul(-1).add(2).view({-1, 1});  // 2, 1, 0, −1
    target[0][0] = sizes.vocabulary - 1;
    greatest = x.to(at::kFloat).nan_to_num(-9).amax({1}, true);
  }
  detail::RowFactors factors(at::Device device) const {
    const auto column = [&](double from) {
      return at::arange(x.size(0), at::kFloat).mul(0.25).add(from).view({-1, 1}).to(device);
    };
    return {greatest.to(device), column(1), column(0.01), column(-1), target.to(device)};
  }
};

/// An exp is right to 2 units, which are 4·u. Partial sums of 8 terms a thread, and a tree of up to 10, are
/// in fp32; the rest is in fp64. When a later block of 2,048 has a greater number, what was summed is
/// multiplied.
Tensors sum_bounds(const LogitOperands& of) {
  const double u = rounding_in(of.x.scalar_type()), blocks = static_cast<double>(of.x.size(1)) / 2048;
  const at::Tensor shifted = of.x.to(at::kDouble).sub(of.greatest), relative = shifted.sum(1, true).abs();
  const double each = 2 * (4 + 18 + 2 + 6 * blocks) * u;
  return {at::Tensor(), shifted.exp().sum(1, true).mul(each), relative.mul(each)};
}

Tensors gradient_bounds(const LogitOperands& of) {
  const double u = rounding_in(of.x.scalar_type());
  const detail::RowFactors by = of.factors(at::kCPU);
  const at::Tensor e = of.x.to(at::kDouble).sub(of.greatest).exp().mul(by.of_exp);
  const at::Tensor most = by.of_each.abs().add(by.of_target.abs());
  return {e.mul(8 * u).add(most, 2 * u).mul(2)};
}

}  // namespace

std::vector<KernelCase> norm_cases(at::ScalarType type, const KernelSizes& sizes) {
  if (type == at::kDouble) return {};
  std::vector<KernelCase> all;
  for (const bool centred : {true, false}) {
    const auto of = std::make_shared<const NormOperands>(type, sizes, centred);
    const std::string name = concat(centred ? "layer norm" : "RMS norm", " of ", of->x.sizes(), ", ", type);
    all.push_back({name,
                   {{"NormOfRow", 1}, {"GradientsOfPart", 1}},
                   [of](at::Device device) { return normed(*of, device); },
                   [of] { return norm_bounds(*of); }});
    all.push_back({name + ", again",
                   {{"NormOfRow", 2}, {"NormOfRowAgain", 1}, {"GradientsOfPart", 2}},
                   [of](at::Device device) { return normed_again(*of, device); },
                   [of] {
                     const Tensors bounds = norm_bounds(*of);
                     return Tensors{bounds[0], at::Tensor(), bounds[1], at::Tensor()};
                   }});
  }
  return all;
}

std::vector<KernelCase> logit_cases(at::ScalarType type, const KernelSizes& sizes) {
  if (type == at::kDouble) return {};
  const auto of = std::make_shared<const LogitOperands>(type, sizes);
  const std::string name = concat(" of ", of->x.sizes(), ", ", type);
  return {{"sums of exp" + name,
           {{"SumsOfRow", 1}},
           [of](at::Device device) {
             const detail::RowSums sums = detail::row_sums(of->x.to(device));
             return Tensors{sums.greatest, sums.sum, sums.shifted};
           },
           [of] { return sum_bounds(*of); }},
          {"gradients of logits" + name,
           {{"GradientOfRow", 2}},
           [of](at::Device device) {
             const at::Tensor x = of->x.to(device).clone();
             const at::Tensor beside = detail::row_gradients(x, of->factors(device), false);
             return Tensors{beside, detail::row_gradients(x, of->factors(device), true)};  // over x
           },
           [of] {
             const at::Tensor bound = gradient_bounds(*of)[0];
             return Tensors{bound, bound};
           }}};
}

}  // namespace riesz::testing
