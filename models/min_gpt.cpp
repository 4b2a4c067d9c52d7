// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt.h"

#include <ATen/ops/arange.h>

#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/vectors/broadcast.h"

namespace riesz::models {
namespace {

constexpr double kDeviation = 0.02;

LinearOptions linear(const MinGptConfig& config) { return {.contraction = config.contraction}; }

/// GPT-2 starts the projections back into the residual stream smaller, by the number of them.
LinearOptions residual(const MinGptConfig& config) {
  const double deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
  return {.initial = Initial::normal(deviation), .contraction = config.contraction};
}

LinearOptions without_bias(const MinGptConfig& config) {
  return {.bias = false, .contraction = config.contraction};
}

}  // namespace

Roles MinGptConfig::roles() const {
  RIESZ_CHECK(layers >= 1 && heads >= 1 && width >= 1 && vocabulary >= 1 && context >= 1, "minGPT: layers ",
              layers, ", heads ", heads, ", width ", width, ", vocabulary ", vocabulary, ", context ",
              context, "; each is at least 1");
  RIESZ_CHECK(width % heads == 0, "minGPT: a width of ", width, " is no multiple of ", heads, " heads");
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'p', {Role::position, context}},
          {'c', {Role::width, width}},
          {'q', {Role::whole, 3}},
          {'h', {Role::heads, heads}},
          {'d', {Role::whole, width / heads}},
          {'f', {Role::inner, hidden > 0 ? hidden : 4 * width}},
          {'v', {Role::vocabulary, vocabulary}}};
}

SelfAttention::SelfAttention(Part part, const MinGptConfig& config)
    : Layer(std::move(part)),
      c_attn_(*this, "c_attn", "btc,cqhd->qbthd", linear(config)),
      attend_(*this, "", {.causal = true, .dropout = config.attention_dropout.value_or(config.dropout)}),
      c_proj_(*this, "c_proj", "bthd,hdc->btc", residual(config)),
      resid_dropout_(*this, "resid_dropout", config.residual_dropout.value_or(config.dropout)) {}

Vector SelfAttention::forward(const Vector& x) {
  const Vector qkv = c_attn_(x);      // (3, B, T, heads, d)
  const Vector y = attend_(qkv);      // (B, T, heads, d)
  return resid_dropout_(c_proj_(y));  // (B, T, C)
}

std::string SelfAttention::describe() const { return "causal self-attention"; }

Mlp::Mlp(Part part, const MinGptConfig& config)
    : Layer(std::move(part)),
      activation_(config.activation),
      c_fc_(*this, "c_fc", "btc,cf->btf", linear(config)),
      c_proj_(*this, "c_proj", "btf,fc->btc", residual(config)),
      dropout_(*this, "dropout", config.residual_dropout.value_or(config.dropout)) {}

Vector Mlp::forward(const Vector& x) { return dropout_(c_proj_(activate(activation_, c_fc_(x)))); }

std::string Mlp::describe() const { return "MLP with " + activation_; }

Block::Block(Part part, const MinGptConfig& config)
    : Layer(std::move(part)),
      ln_1_(*this, "ln_1", "btc", config.epsilon),
      attn_({*this, "attn"}, config),
      ln_2_(*this, "ln_2", "btc", config.epsilon),
      mlp_({*this, "mlp"}, config) {}

Vector Block::forward(Vector x) {
  x = x + attn_(ln_1_(x));
  return x + mlp_(ln_2_(x));
}

std::string Block::describe() const { return "transformer block"; }

MinGpt::MinGpt(const Layout& layout, const MinGptConfig& config)
    : MinGpt(ModelSpaces(layout, config.roles()), config) {}

MinGpt::MinGpt(const ModelSpaces& spaces, const MinGptConfig& config)
    : Layer("", spaces),
      config_(config),
      wte_(*this, "transformer.wte", "bt,vc->btc"),
      wpe_(*this, "transformer.wpe", "t,pc->tc"),
      drop_(*this, "transformer.drop", config.embedding_dropout.value_or(config.dropout)),
      blocks_(*this, "transformer.h", config.layers, config),
      ln_f_(*this, "transformer.ln_f", "btc", config.epsilon),
      lm_head_(config.tied ? Linear(*this, "lm_head", "btc,vc->btv", wte_.weight(), without_bias(config))
                           : Linear(*this, "lm_head", "btc,vc->btv", without_bias(config))) {}

Vector MinGpt::forward(const Vector& ids) {
  const std::int64_t T = ids.space().shape().back();
  RIESZ_CHECK(T <= config_.context, "minGPT: a sequence of ", T, " tokens is longer than the context of ",
              config_.context);
  const Space t = spaces().stream("t").with_shape({T});
  const Vector tok = wte_(ids);                                                  // (B, T, C)
  const Vector pos = wpe_(distribute(t, at::arange(T, ids.local().options())));  // (T, C)
  const Vector x = drop_(add(tok, "btc", pos, "tc"));
  return lm_head_(ln_f_(blocks_(x)));  // (B, T, V)
}

std::string MinGpt::describe() const {
  return concat("minGPT: ", config_.layers, " layers, ", config_.heads, " heads, width ", config_.width,
                ", vocabulary ", config_.vocabulary, ", context ", config_.context);
}

}  // namespace riesz::models
