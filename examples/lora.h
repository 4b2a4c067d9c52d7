// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// LoRA (Hu et al., 2106.09685) on the Llama of llama.h: docs/guides/frozen_weights.md explains it.
#pragma once

#include <string>
#include <utility>

#include "llama.h"

/// The specs of W, A and B.
struct LoraSpecs {
  std::string w, a, b;
};

/// y = W x + factor·B A x, with factor = lora_alpha/r. A has few rows and B few columns, of the letter r.
/// Parameters have PEFT's names without its prefix.
class LoraLinear : public Layer<LoraLinear> {
 public:
  LoraLinear(Module& owner, const std::string& name, LoraSpecs of, double by)
      : Layer({owner, name}), specs(std::move(of)), factor(by) {}

  Vector forward(const Vector& x) { return w(x) + b(factor * a(x)); }
  std::string describe() const override { return "LoRA of " + specs.w; }

 private:
  LoraSpecs specs;
  double factor;
  Linear w{*this, "", specs.w, {.bias = false}};
  Linear a{*this, "lora_A", specs.a, {.bias = false}};
  Linear b{*this, "lora_B", specs.b, {.initial = Initial::zeros(), .bias = false}};
};

/// A block of the Llama whose queries and values have adapters.
class LoraBlock : public Layer<LoraBlock> {
 public:
  LoraBlock(OwnerAndName place, const LlamaConfig& sizes, double by)
      : Layer(std::move(place)), config(sizes), factor(by) {}

  Vector forward(Vector x) {
    const Vector n = norm_1(x);
    x = x + o(attend(turned(q(n)), turned(k(n)), v(n), AttentionCall{}));
    const Vector m = norm_2(x);
    return x + down(gated("silu", gate(m), up(m)));
  }
  std::string describe() const override { return "Llama block with LoRA"; }

 private:
  Vector turned(Vector x) {
    return rotary(std::move(x), {.base = config.base, .pairs = RotaryPairs::halves});
  }

  LlamaConfig config;
  double factor;
  RmsNorm norm_1{*this, "input_layernorm", "btc", config.epsilon};
  LoraLinear q{*this, "self_attn.q_proj", {"btc,hdc->bthd", "btc,rc->btr", "btr,hdr->bthd"}, factor};
  Linear k{*this, "self_attn.k_proj", "btc,gdc->btgd", {.bias = false}};
  LoraLinear v{*this, "self_attn.v_proj", {"btc,gdc->btgd", "btc,rc->btr", "btr,gdr->btgd"}, factor};
  Attention attend{*this, "", {.keys = "btgd", .causal = true}};
  Linear o{*this, "self_attn.o_proj", "bthd,chd->btc", {.bias = false}};
  RmsNorm norm_2{*this, "post_attention_layernorm", "btc", config.epsilon};
  Linear gate{*this, "mlp.gate_proj", "btc,fc->btf", {.bias = false}};
  Linear up{*this, "mlp.up_proj", "btc,fc->btf", {.bias = false}};
  Linear down{*this, "mlp.down_proj", "btf,cf->btc", {.bias = false}};
};

/// The Llama with adapters. Its other weights have the names of the Llama's, so a published model is loaded
/// as into that. `train_adapters` freezes all but the adapters.
class LoraLlama : public Layer<LoraLlama> {
 public:
  LoraLlama(const Layout& layout, const LlamaConfig& sizes, std::int64_t rank = 4)
      : Layer("", {layout, with_rank(sizes, rank)}), config(sizes), factor(2.0 / static_cast<double>(rank)) {}

  void train_adapters() { freeze_all_but(*this, {"model.layers.*.self_attn.*.lora_?"}); }

  Vector forward(const Vector& ids) { return head(norm(blocks(embed(ids)))); }  // (B, T) -> (B, T, V)
  std::string describe() const override { return "Llama with LoRA"; }

 private:
  static Roles with_rank(const LlamaConfig& sizes, std::int64_t rank) {
    Roles roles = sizes.roles();
    roles['r'] = {Role::whole, rank};
    return roles;
  }

  LlamaConfig config;
  double factor;
  Embedding embed{*this, "model.embed_tokens", "bt,vc->btc"};
  Repeated<LoraBlock> blocks{*this, "model.layers", config.layers, config, factor};
  RmsNorm norm{*this, "model.norm", "btc", config.epsilon};
  Linear head{*this, "lm_head", "btc,vc->btv", {.bias = false}};
};
