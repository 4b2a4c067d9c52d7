// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "plain_min_gpt.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>

namespace riesz::plain {
namespace {

struct Forward {
  const models::MinGptConfig& config;
  const Weights& weights;
  const Drop& drop_at;

  const at::Tensor& w(const std::string& name) const { return weights.at(name); }

  at::Tensor drop(const std::string& place, const at::Tensor& x) const {
    return drop_at ? drop_at(place, x) : x;
  }

  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {config.width}, w(name + ".weight"), w(name + ".bias"), config.epsilon);
  }

  /// In the config's compute type, as torch's autocast casts what is multiplied.
  at::Tensor cast(const at::Tensor& x) const {
    const auto& type = config.contraction.compute_type;
    return type ? x.to(*type) : x;
  }

  /// GPT-2's Conv1D: x·W + b with W of (in, out).
  at::Tensor conv1d(const std::string& name, const at::Tensor& x) const {
    if (config.contraction.compute_type)
      return at::matmul(cast(x), cast(w(name + ".weight"))) + cast(w(name + ".bias"));
    const at::Tensor flat = at::addmm(w(name + ".bias"), x.reshape({-1, x.size(-1)}), w(name + ".weight"));
    return flat.view({x.size(0), x.size(1), -1});
  }

  at::Tensor attend(const std::string& name, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& v) const {
    if (!drop_at) return at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, true);
    const std::int64_t T = q.size(2);
    const at::Tensor earlier = at::ones({T, T}, q.options()).tril();
    at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
    scores = scores.masked_fill(earlier == 0, -std::numeric_limits<double>::infinity());
    return at::matmul(drop(name + ".attn_dropout", at::softmax(scores, -1)), v);
  }

  at::Tensor attention(const std::string& name, const at::Tensor& x) const {
    const std::int64_t B = x.size(0);
    const std::int64_t T = x.size(1);
    const std::int64_t C = config.width;
    const auto parts = conv1d(name + ".c_attn", x).split(C, 2);
    const auto heads = [&](std::size_t i) { return parts[i].view({B, T, config.heads, -1}).transpose(1, 2); };
    const at::Tensor y = attend(name, heads(0), heads(1), heads(2)).transpose(1, 2).reshape({B, T, C});
    return drop(name + ".resid_dropout", conv1d(name + ".c_proj", y));
  }

  at::Tensor mlp(const std::string& name, const at::Tensor& x) const {
    const at::Tensor inner = conv1d(name + ".c_fc", x);
    const at::Tensor active = config.activation == "relu" ? at::relu(inner) : at::gelu(inner, "tanh");
    return drop(name + ".dropout", conv1d(name + ".c_proj", active));
  }

  at::Tensor operator()(const at::Tensor& ids) const {
    const at::Tensor positions = at::arange(ids.size(1), ids.options());
    at::Tensor x = at::embedding(w("transformer.wte.weight"), ids) +
                   at::embedding(w("transformer.wpe.weight"), positions);
    x = drop("transformer.drop", x);
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      const std::string h = "transformer.h." + std::to_string(layer);
      x = x + attention(h + ".attn", norm(h + ".ln_1", x));
      x = x + mlp(h + ".mlp", norm(h + ".ln_2", x));
    }
    return at::linear(cast(norm("transformer.ln_f", x)), cast(w("lm_head.weight")));
  }
};

}  // namespace

at::Tensor min_gpt(const models::MinGptConfig& config, const Weights& weights, const at::Tensor& ids,
                   const Drop& drop) {
  return Forward{config, weights, drop}(ids);
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.reshape({-1, logits.size(-1)}), targets.reshape({-1}), {},
                                at::Reduction::Mean, -1);
}

void adamw(Weights& weights, AdamWState& state, double learning_rate, double epsilon, double weight_decay,
           const std::function<bool(const std::string& name)>& decays) {
  const at::NoGradGuard no_gradient;
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.999;
  state.steps += 1;
  const auto t = static_cast<double>(state.steps);
  for (auto& [name, w] : weights) {
    const at::Tensor g = w.grad();
    at::Tensor& m = state.first.try_emplace(name, at::zeros_like(w)).first->second;
    at::Tensor& v = state.second.try_emplace(name, at::zeros_like(w)).first->second;
    if (decays(name)) w.mul_(1 - learning_rate * weight_decay);
    m.mul_(beta1).add_(g, 1 - beta1);
    v.mul_(beta2).addcmul_(g, g, 1 - beta2);
    const at::Tensor size = (v / (1 - std::pow(beta2, t))).sqrt_().add_(epsilon);
    w.addcdiv_(m, size, -learning_rate / (1 - std::pow(beta1, t)));
    w.mutable_grad().reset();
  }
}

}  // namespace riesz::plain
