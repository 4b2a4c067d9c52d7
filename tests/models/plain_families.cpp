// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "plain_families.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

namespace riesz::plain {
namespace {

struct Family {
  const Weights& weights;

  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    const auto bias = weights.find(name + ".bias");
    if (bias == weights.end()) return at::linear(x, weights.at(name + ".weight"));
    return at::linear(x, weights.at(name + ".weight"), bias->second);
  }
  at::Tensor layer_norm(const std::string& name, const at::Tensor& x, double epsilon) const {
    return at::layer_norm(x, {x.size(-1)}, weights.at(name + ".weight"), weights.at(name + ".bias"), epsilon);
  }
};

/// (B, T, heads·d) → (B, heads, T, d).
at::Tensor heads_of(const at::Tensor& x, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

at::Tensor attend_plainly(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  const at::Tensor y = at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, causal).transpose(1, 2);
  return y.reshape({y.size(0), y.size(1), -1});
}

at::Tensor angles_of(std::int64_t T, const at::Tensor& frequencies) {
  return at::outer(at::arange(T, frequencies.options()), frequencies);
}

at::Tensor frequencies_of(std::int64_t dims, double base) {
  return at::pow(base, at::arange(0, dims, 2, at::kDouble).mul(-1.0 / static_cast<double>(dims)));
}

/// Pairs 2i and 2i + 1 of the first `dims` turn: GPT-J's.
at::Tensor turned_neighbours(const at::Tensor& x, std::int64_t dims) {
  const at::Tensor angles = angles_of(x.size(2), frequencies_of(dims, 10000));
  const at::Tensor pairs = x.narrow(-1, 0, dims).unflatten(-1, {dims / 2, 2});
  const at::Tensor a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  const at::Tensor both =
      at::stack({a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()}, -1);
  return at::cat({both.flatten(-2), x.narrow(-1, dims, x.size(-1) - dims)}, -1);
}

/// Llama 3's: long waves turn slower by the factor, those between are blended.
at::Tensor scaled(const at::Tensor& frequencies, const RotaryScaling& scaling) {
  at::Tensor result = frequencies.clone();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const double f = frequencies[i].item<double>(), wave = 2 * std::numbers::pi / f;
    const auto original = static_cast<double>(scaling.original_max_position);
    const double low = original / scaling.low_freq_factor, high = original / scaling.high_freq_factor;
    if (wave < high) continue;
    const double smooth =
        (original / wave - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
    result[i] = wave > low ? f / scaling.factor : (1 - smooth) * f / scaling.factor + smooth * f;
  }
  return result;
}

/// Pairs i and i + d/2 turn.
at::Tensor turned_halves(const at::Tensor& x, const models::LlamaConfig& config) {
  at::Tensor frequencies = frequencies_of(x.size(-1), config.rotary_base);
  if (config.rotary_scaling) frequencies = scaled(frequencies, *config.rotary_scaling);
  const at::Tensor angles = angles_of(x.size(2), frequencies);
  const auto parts = x.chunk(2, -1);
  return at::cat(
      {parts[0] * angles.cos() - parts[1] * angles.sin(), parts[1] * angles.cos() + parts[0] * angles.sin()},
      -1);
}

/// Experts, each applied to all tokens, and its results weighted by 0 where they were not chosen.
struct Mixture {
  Family of;
  models::RoutedSizes sizes;
  std::function<at::Tensor(const std::string& expert, const at::Tensor& rows)> one;
  std::vector<at::Tensor> router = {};  // logits of (B·T, E), by layer

  at::Tensor mixed(const std::string& path, const at::Tensor& m, bool renormalise) {
    const at::Tensor rows = m.flatten(0, 1);
    router.push_back(of.linear(path + "gate", rows));
    const at::Tensor p = router.back().softmax(-1);
    auto [top, chosen] = at::topk(p, sizes.experts_per_token, -1);
    if (renormalise) top = top / top.sum(-1, true);
    const at::Tensor gates = at::zeros_like(p).scatter(1, chosen, top);
    at::Tensor y = at::zeros_like(rows);
    for (std::int64_t e = 0; e < sizes.experts; ++e) {
      y = y + gates.narrow(1, e, 1) * one(path + "experts." + std::to_string(e) + ".", rows);
    }
    return y.view_as(m);
  }

  /// As `load_balancing_loss_func` in transformers: over the tokens of all layers.
  at::Tensor balance() const {
    const at::Tensor p = at::cat(router).softmax(-1);
    const at::Tensor chosen = std::get<1>(at::topk(p, sizes.experts_per_token, -1));
    const at::Tensor tokens = at::one_hot(chosen, sizes.experts).to(at::kDouble).mean(0);  // (k, E)
    const at::Tensor loss = (tokens * p.mean(0)).sum() * static_cast<double>(sizes.experts);
    return sizes.balance_weight * loss;
  }
};

/// An expert whose weights gate, up and down have these names.
auto gated_expert(const Family& of, const std::array<std::string, 3>& names) {
  return [of, names](const std::string& expert, const at::Tensor& rows) {
    const at::Tensor inner =
        at::silu(of.linear(expert + names[0], rows)) * of.linear(expert + names[1], rows);
    return of.linear(expert + names[2], inner);
  };
}

/// A Llama whose MLP, of block `h` and of what its norm gives, is given.
template <typename Mlp>
at::Tensor like_llama(const models::LlamaConfig& config, const Weights& weights, const at::Tensor& ids,
                      const Mlp& mlp) {
  const Family of{weights};
  const auto norm = [&](const std::string& name, const at::Tensor& x) {
    return at::rms_norm(x, {config.width}, weights.at(name + ".weight"), config.epsilon);
  };
  at::Tensor x = at::embedding(weights.at("model.embed_tokens.weight"), ids);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = "model.layers." + std::to_string(layer);
    const at::Tensor n = norm(h + ".input_layernorm", x);
    const std::int64_t shared = config.heads / config.key_value_heads;
    const at::Tensor q = heads_of(of.linear(h + ".self_attn.q_proj", n), config.heads);
    const at::Tensor k = heads_of(of.linear(h + ".self_attn.k_proj", n), config.key_value_heads);
    const at::Tensor v = heads_of(of.linear(h + ".self_attn.v_proj", n), config.key_value_heads);
    const at::Tensor y =
        attend_plainly(turned_halves(q, config), turned_halves(k, config).repeat_interleave(shared, 1),
                       v.repeat_interleave(shared, 1), true);
    x = x + of.linear(h + ".self_attn.o_proj", y);
    x = x + mlp(h, norm(h + ".post_attention_layernorm", x));
  }
  const at::Tensor& head = weights.at(config.tied ? "model.embed_tokens.weight" : "lm_head.weight");
  return at::linear(norm("model.norm", x), head);
}

}  // namespace

at::Tensor gpt_j(const models::GptJConfig& config, const Weights& weights, const at::Tensor& ids) {
  const Family of{weights};
  at::Tensor x = at::embedding(weights.at("transformer.wte.weight"), ids);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = "transformer.h." + std::to_string(layer);
    const at::Tensor n = of.layer_norm(h + ".ln_1", x, config.epsilon);
    const auto heads = [&](const char* name) { return heads_of(of.linear(h + name, n), config.heads); };
    const at::Tensor y = attend_plainly(turned_neighbours(heads(".attn.q_proj"), config.rotary_dims),
                                        turned_neighbours(heads(".attn.k_proj"), config.rotary_dims),
                                        heads(".attn.v_proj"), true);
    const at::Tensor inner = at::gelu(of.linear(h + ".mlp.fc_in", n), "tanh");
    x = x + of.linear(h + ".attn.out_proj", y) + of.linear(h + ".mlp.fc_out", inner);
  }
  return of.linear("lm_head", of.layer_norm("transformer.ln_f", x, config.epsilon));
}

at::Tensor llama(const models::LlamaConfig& config, const Weights& weights, const at::Tensor& ids) {
  const Family of{weights};
  return like_llama(config, weights, ids, [&](const std::string& h, const at::Tensor& m) {
    const at::Tensor gate = at::silu(of.linear(h + ".mlp.gate_proj", m));
    return of.linear(h + ".mlp.down_proj", gate * of.linear(h + ".mlp.up_proj", m));
  });
}

Predictions mixtral(const models::MixtralConfig& config, const Weights& weights, const at::Tensor& ids) {
  Mixture mixture{{weights}, config, gated_expert({weights}, {"w1", "w3", "w2"})};
  const at::Tensor logits = like_llama(config, weights, ids, [&](const std::string& h, const at::Tensor& m) {
    return mixture.mixed(h + ".block_sparse_moe.", m, true);
  });
  return {logits, mixture.balance()};
}

Predictions qwen2_moe(const models::Qwen2MoeConfig& config, const Weights& weights, const at::Tensor& ids) {
  const Family of{weights};
  Mixture mixture{of, config, gated_expert(of, {"gate_proj", "up_proj", "down_proj"})};
  const at::Tensor logits = like_llama(config, weights, ids, [&](const std::string& h, const at::Tensor& m) {
    const std::string shared = h + ".mlp.shared_expert";
    const at::Tensor inner =
        at::silu(of.linear(shared + ".gate_proj", m)) * of.linear(shared + ".up_proj", m);
    const at::Tensor open = of.linear(shared + "_gate", m).sigmoid();
    return mixture.mixed(h + ".mlp.", m, config.renormalise) + open * of.linear(shared + ".down_proj", inner);
  });
  return {logits, mixture.balance()};
}

Predictions gpt2_moe(const models::Gpt2MoeConfig& config, const Weights& weights, const at::Tensor& ids) {
  const Family of{weights};
  const auto conv1d = [&](const std::string& name, const at::Tensor& x) {
    return at::matmul(x, weights.at(name + ".weight")) + weights.at(name + ".bias");
  };
  const auto mlp = [&](const std::string& path, const at::Tensor& x) {
    return conv1d(path + "c_proj", at::gelu(conv1d(path + "c_fc", x), "tanh"));
  };
  Mixture mixture{of, config, mlp};
  at::Tensor x = at::embedding(weights.at("transformer.wte.weight"), ids) +
                 weights.at("transformer.wpe.weight").narrow(0, 0, ids.size(1));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = "transformer.h." + std::to_string(layer);
    const auto parts = conv1d(h + ".attn.c_attn", of.layer_norm(h + ".ln_1", x, config.epsilon)).chunk(3, 2);
    const auto heads = [&](std::size_t i) { return heads_of(parts[i], config.heads); };
    x = x + conv1d(h + ".attn.c_proj", attend_plainly(heads(0), heads(1), heads(2), true));
    const at::Tensor n = of.layer_norm(h + ".ln_2", x, config.epsilon);
    const bool routed = layer % config.experts_every == config.experts_every - 1;
    x = x + (routed ? mixture.mixed(h + ".mlp.", n, config.experts_per_token > 1) : mlp(h + ".mlp.", n));
  }
  const at::Tensor z = at::cat(mixture.router).logsumexp(-1).square().mean();
  const at::Tensor& head = weights.at(config.tied ? "transformer.wte.weight" : "lm_head.weight");
  return {at::linear(of.layer_norm("transformer.ln_f", x, config.epsilon), head),
          mixture.balance() + config.z_weight * z};
}

at::Tensor vit(const models::VitConfig& config, const Weights& weights, const at::Tensor& images) {
  const Family of{weights};
  const std::string e = "vit.embeddings.", p = e + "patch_embeddings.projection.";
  const at::Tensor patches =
      at::conv2d(images, weights.at(p + "weight"), weights.at(p + "bias"), {config.patch, config.patch});
  const at::Tensor first = weights.at(e + "cls_token").expand({images.size(0), 1, config.width});
  at::Tensor x =
      at::cat({first, patches.flatten(2).transpose(1, 2)}, 1) + weights.at(e + "position_embeddings");
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = "vit.encoder.layer." + std::to_string(layer);
    const at::Tensor n = of.layer_norm(h + ".layernorm_before", x, config.epsilon);
    const auto heads = [&](const char* name) { return heads_of(of.linear(h + name, n), config.heads); };
    const at::Tensor y =
        attend_plainly(heads(".attention.attention.query"), heads(".attention.attention.key"),
                       heads(".attention.attention.value"), false);
    x = x + of.linear(h + ".attention.output.dense", y);
    const at::Tensor m = of.layer_norm(h + ".layernorm_after", x, config.epsilon);
    x = x + of.linear(h + ".output.dense", at::gelu(of.linear(h + ".intermediate.dense", m)));
  }
  return of.linear("classifier", of.layer_norm("vit.layernorm", x, config.epsilon).select(1, 0));
}

}  // namespace riesz::plain
