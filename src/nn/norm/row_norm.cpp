// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/row_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/rsqrt.h>

#include <memory>
#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/resolved.h"
#include "riesz/nn/kernels/stored.h"
#include "riesz/nn/norm/norm_rows.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/plain_floats.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// (…, n) as (m, n).
at::Tensor as_rows(const at::Tensor& x) { return x.contiguous().view({-1, x.size(-1)}); }
/// n elements in fp32.
at::Tensor as_floats(const at::Tensor& w) {
  return w.defined() ? w.reshape({-1}).to(at::kFloat).contiguous() : w;
}

/// Of x, weight and bias. It gives its output again. For that it has copies of weight and bias: a parameter's
/// memory may be elsewhere when backward comes to a reader of the output.
class RowNormNode final : public Node {
 public:
  explicit RowNormNode(double epsilon) : epsilon_(epsilon) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor& x = inputs[0];
    const at::Tensor weight = as_floats(inputs[1]), bias = as_floats(inputs[2]);
    const NormedRows rows = norm_rows(as_rows(x), weight, bias, epsilon_);
    const auto copied = [](const at::Tensor& floats) { return floats.defined() ? floats.clone() : floats; };
    save({x, inputs[1], rows.mean, rows.scale, inputs[2], copied(weight), copied(bias)});
    if (inputs[2].defined()) bias_ = inputs[2].sizes().vec();
    return {rows.y.view(x.sizes())};
  }

  bool gives_again() const override { return true; }

  at::Tensor again() override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor& x = inputs[0];
    if (at::GradMode::is_enabled()) return row_norm(x, inputs[1], inputs[4], epsilon_);
    return norm_rows_again(as_rows(x), inputs[5], inputs[6], {{}, inputs[2], inputs[3]}).view(x.sizes());
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> inputs = saved();
    const at::Tensor &x = inputs[0], &weight = inputs[1];
    const NormedRows rows{{}, inputs[2], inputs[3]};
    if (at::GradMode::is_enabled()) return differentiable(gradients[0], x, weight, rows.mean.defined());
    const bool of_weights = needs_gradient(1) || (rows.mean.defined() && needs_gradient(2));
    const NormGradients all =
        norm_rows_gradients(as_rows(resolved(gradients[0])), as_rows(x), as_floats(weight), rows, of_weights);
    const auto as_stored = [&](const at::Tensor& each, at::IntArrayRef sizes) {
      return each.defined() ? each.view(sizes).to(weight.scalar_type()) : at::Tensor();
    };
    return {all.x.view(x.sizes()), as_stored(all.weight, weight.sizes()), as_stored(all.bias, bias_)};
  }

 private:
  /// By LibTorch's operators.
  std::vector<at::Tensor> differentiable(const at::Tensor& gradient, const at::Tensor& x,
                                         const at::Tensor& weight, bool centred) const {
    const at::Tensor ybar = to_accumulation_type(gradient), values = to_accumulation_type(x);
    const at::Tensor deviations = centred ? values.sub(values.mean(-1, true)) : values;
    const at::Tensor scale = at::rsqrt(deviations.square().mean(-1, true).add(epsilon_));
    const at::Tensor u = deviations.mul(scale), v = ybar.mul(weight.view({-1}));
    const at::Tensor beside = u.mul(u.mul(v).mean(-1, true));
    const at::Tensor xbar = (centred ? v.sub(v.mean(-1, true)).sub(beside) : v.sub(beside)).mul(scale);
    const auto summed = [&](const at::Tensor& each, at::IntArrayRef sizes) {
      return each.reshape({-1, each.size(-1)}).sum(0).view(sizes).to(weight.scalar_type());
    };
    return {xbar.to(x.scalar_type()), summed(ybar.mul(u), weight.sizes()),
            centred ? summed(ybar, bias_) : at::Tensor()};
  }

  double epsilon_;
  std::vector<std::int64_t> bias_;
};

at::Tensor norm_by_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        double epsilon) {
  const auto fits = [&](const at::Tensor& w) {
    return of_stored_type(w) && w.scalar_type() == x.scalar_type() && w.device() == x.device();
  };
  if (!of_stored_type(x) || !fits(weight) || (bias.defined() && !fits(bias)) || x.numel() == 0)
    return row_norm_by_operators(x, weight, bias, epsilon);
  const bool has_gradient = bias.defined() ? recorded(x, weight, bias) : recorded(x, weight);
  if (has_gradient) return record(std::make_shared<RowNormNode>(epsilon), {x, weight, bias})[0];
  return norm_rows(as_rows(x), as_floats(weight), as_floats(bias), epsilon).y.view(x.sizes());
}

at::Tensor norm_there(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  return has_norm_rows(x.device()) ? norm_by_rows(x, weight, bias, epsilon)
                                   : row_norm_by_operators(x, weight, bias, epsilon);
}

const Dispatched<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, double)> norms{
    norm_by_rows, norm_there};

}  // namespace

at::Tensor row_norm_by_operators(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 double epsilon) {
  const std::int64_t n = x.size(-1);
  return bias.defined() ? at::layer_norm(x, {n}, weight.view({n}), bias.view({n}), epsilon)
                        : at::rms_norm(x, {n}, weight.view({n}), epsilon);
}

at::Tensor row_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  return norms(x.device(), x, weight, bias, epsilon);
}

}  // namespace riesz::detail
