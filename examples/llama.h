// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A Llama (Touvron et al., 2302.13971), whole: docs/guides/write_a_model.md explains it line by line.
#pragma once

#include <string>
#include <utility>

#include "riesz/riesz.h"

using namespace riesz;

struct LlamaConfig {
  std::int64_t layers = 2, width = 48, heads = 6, key_value_heads = 2, hidden = 128, vocabulary = 97;
  double epsilon = 1e-5, base = 10000;

  /// A letter for each dim, and its role; batch and sequence are of any extent.
  Roles roles() const {
    return {{'b', {Role::batch}},
            {'t', {Role::sequence}},
            {'c', {Role::width, width}},
            {'h', {Role::heads, heads}},
            {'g', {Role::key_value_heads, key_value_heads}},
            {'d', {Role::whole, width / heads}},
            {'f', {Role::inner, hidden}},
            {'v', {Role::vocabulary, vocabulary}}};
  }
};

class LlamaBlock : public Layer<LlamaBlock> {
 public:
  LlamaBlock(OwnerAndName place, const LlamaConfig& sizes) : Layer(std::move(place)), config(sizes) {}

  Vector forward(Vector x) {  // (B, T, C) -> (B, T, C)
    const Vector n = norm_1(x);
    x = x + o(attend(turned(q(n)), turned(k(n)), v(n)));
    const Vector m = norm_2(x);
    return x + down(gated("silu", gate(m), up(m)));
  }
  std::string describe() const override { return "Llama block"; }

 private:
  Vector turned(Vector x) {
    return rotary(std::move(x),
                  {.base = config.base, .offset = first_position(), .pairs = RotaryPairs::halves});
  }

  LlamaConfig config;
  RmsNorm norm_1{*this, "input_layernorm", "btc", config.epsilon};
  Linear q{*this, "self_attn.q_proj", "btc,hdc->bthd", {.bias = false}};
  Linear k{*this, "self_attn.k_proj", "btc,gdc->btgd", {.bias = false}};
  Linear v{*this, "self_attn.v_proj", "btc,gdc->btgd", {.bias = false}};
  Attention attend{*this, "", {.keys = "btgd", .causal = true}};
  Linear o{*this, "self_attn.o_proj", "bthd,chd->btc", {.bias = false}};
  RmsNorm norm_2{*this, "post_attention_layernorm", "btc", config.epsilon};
  Linear gate{*this, "mlp.gate_proj", "btc,fc->btf", {.bias = false}};
  Linear up{*this, "mlp.up_proj", "btc,fc->btf", {.bias = false}};
  Linear down{*this, "mlp.down_proj", "btf,cf->btc", {.bias = false}};
};

class Llama : public Layer<Llama> {
 public:
  Llama(const Layout& layout, const LlamaConfig& sizes) : Layer("", {layout, sizes.roles()}), config(sizes) {}

  Vector forward(const Vector& ids) { return head(norm(blocks(embed(ids)))); }  // (B, T) -> (B, T, V)
  std::string describe() const override { return "Llama"; }

 private:
  LlamaConfig config;
  Embedding embed{*this, "model.embed_tokens", "bt,vc->btc"};
  Repeated<LlamaBlock> blocks{*this, "model.layers", config.layers, config};
  RmsNorm norm{*this, "model.norm", "btc", config.epsilon};
  Linear head{*this, "lm_head", "btc,vc->btv", {.bias = false}};
};
