// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/attend_alone.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_safe_softmax.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/nn/attention/row_blocks.h"
#include "riesz/nn/random/dropped.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// Of q, k, v and the bias, and which positions and keys are seen.
class AloneNode final : public Node {
 public:
  explicit AloneNode(const TileMask& mask) : scale_(mask.scale), corner_(mask.corner), draws_(mask.draws) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const Attended all = attend_by_row_blocks(inputs[0], inputs[1], inputs[2], mask_of(inputs));
    std::vector<at::Tensor> kept = inputs;
    kept.push_back(all.lse);
    save(kept);
    return {all.y.to(inputs[0].scalar_type())};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const std::vector<at::Tensor> kept = saved();
    const TileMask mask = mask_of(kept);
    const at::Tensor &q = kept[0], &k = kept[1], &v = kept[2];
    if (at::GradMode::is_enabled()) return differentiable(q, k, v, gradients[0], mask);
    const TileGradients bar =
        pull_back_by_row_blocks(q, k, v, {{}, kept[6], gradients[0], {}}, mask, needs_gradient(3));
    return as_stored(bar, q, mask);
  }

 private:
  TileMask mask_of(const std::vector<at::Tensor>& inputs) const {
    return {scale_, inputs[3], inputs[4], inputs[5], corner_, draws_};
  }

  static std::vector<at::Tensor> as_stored(const TileGradients& bar, const at::Tensor& q,
                                           const TileMask& mask) {
    const auto of_q = [&](const at::Tensor& x) { return x.to(q.scalar_type()); };
    const at::Tensor bias = mask.bias.defined() && bar.bias.defined()
                                ? bar.bias.sum_to_size(mask.bias.sizes()).to(mask.bias.scalar_type())
                                : at::Tensor();
    return {of_q(bar.q), of_q(bar.k), of_q(bar.v), bias, {}, {}};
  }

  /// By LibTorch's operators.
  static std::vector<at::Tensor> differentiable(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const at::Tensor& gradient, const TileMask& mask) {
    const at::Tensor wide = q.to(at::kFloat), keys = k.to(at::kFloat), values = v.to(at::kFloat);
    const at::Tensor ybar = gradient.to(at::kFloat);
    const at::Tensor p = at::_safe_softmax(masked_scores(wide, keys, mask), -1);
    const auto kept = [&](const at::Tensor& x) { return mask.draws ? dropped(x, *mask.draws) : x; };
    const at::Tensor terms = kept(grouped_product(ybar, values.transpose(-2, -1))).mul(p);
    const at::Tensor sbar = terms.sub(p.mul(terms.sum(-1, true)));
    return as_stored({grouped_product(sbar, keys).mul(mask.scale),
                      product_by_key_head(sbar, wide, k.size(1)).mul(mask.scale),
                      product_by_key_head(kept(p), ybar, k.size(1)), sbar},
                     q, mask);
  }

  double scale_;
  bool corner_;
  std::optional<DropoutDraws> draws_;
};

}  // namespace

at::Tensor attend_alone(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask) {
  return record(std::make_shared<AloneNode>(mask), {q, k, v, mask.bias, mask.seen, mask.keys}).front();
}

}  // namespace riesz::detail
