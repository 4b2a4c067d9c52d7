// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt.h"

#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>

#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/partition/space_dims.h"

namespace riesz::models {
namespace {

constexpr double kDeviation = 0.02;

/// GPT-2 starts the projections back into the residual stream smaller, by the number of them.
Initial residual(const MinGptConfig& config) {
  return Initial::normal(kDeviation / std::sqrt(2.0 * static_cast<double>(config.layers)));
}

/// Where positions and their embeddings lie: as the sequence does in the stream, Copied where that shards the
/// batch.
Space beside_batch(const MinGptSpaces& s, const std::vector<int>& dims) {
  Space X = select_dims(s.stream, dims);
  for (const Shard& shard : s.stream.shards(0))
    X = X.copied(s.stream.partition().axis(shard.axis).name);
  return X;
}
Space position_ids(const MinGptSpaces& s) { return beside_batch(s, {1}); }
Space position_stream(const MinGptSpaces& s) { return beside_batch(s, {1, 2}); }

}  // namespace

Attention::Attention(std::string name, const MinGptSpaces& s, const MinGptConfig& config)
    : Module(std::move(name)),
      to_attending_(s.qkv, s.attending),
      from_attending_(select_dims(s.attending, {1, 2, 3, 4}), s.heads),
      c_attn_("c_attn", "bti,iqhd->qbthd", s.stream, s.qkv_weight, s.qkv,
              {.weight_shape = {config.width, 3 * config.width},
               .bias_shape = {3 * config.width},
               .contraction = config.contraction}),
      c_proj_("c_proj", "bthd,hdo->bto", s.heads, s.heads_weight, s.stream,
              {.initial = residual(config),
               .weight_shape = {config.width, config.width},
               .contraction = config.contraction}),
      attn_dropout_("attn_dropout", config.dropout),
      resid_dropout_("resid_dropout", config.dropout) {
  adopt(c_attn_, c_proj_, attn_dropout_, resid_dropout_);
}

Vector Attention::operator()(const Vector& x) {
  const LayerScope layer = layer_scope();
  const Vector qkv = to_attending_(c_attn_(x));           // (3, B, T, nh, hs)
  const Vector y = causal_attention(qkv, attn_dropout_);  // (B, T, nh, hs)
  return resid_dropout_(c_proj_(from_attending_(y)));     // (B, T, C)
}

std::string Attention::describe() const { return "causal self-attention"; }

Mlp::Mlp(std::string name, const MinGptSpaces& s, const MinGptConfig& config)
    : Module(std::move(name)),
      c_fc_("c_fc", "bti,io->bto", s.stream, s.up_weight, s.hidden, {.contraction = config.contraction}),
      c_proj_("c_proj", "bti,io->bto", s.hidden, s.down_weight, s.stream,
              {.initial = residual(config), .contraction = config.contraction}),
      dropout_("dropout", config.dropout) {
  adopt(c_fc_, c_proj_, dropout_);
}

Vector Mlp::operator()(const Vector& x) {
  const LayerScope layer = layer_scope();
  return dropout_(c_proj_(gelu(c_fc_(x))));
}

std::string Mlp::describe() const { return "MLP with gelu"; }

Block::Block(std::string name, const MinGptSpaces& s, const MinGptConfig& config)
    : Module(std::move(name)),
      ln_1_("ln_1", s.stream),
      attn_("attn", s, config),
      ln_2_("ln_2", s.stream),
      mlp_("mlp", s, config) {
  adopt(ln_1_, attn_, ln_2_, mlp_);
}

Vector Block::operator()(Vector x) {
  const LayerScope layer = layer_scope();
  x = x + attn_(ln_1_(x));
  return x + mlp_(ln_2_(x));
}

std::string Block::describe() const { return "transformer block"; }

MinGpt::MinGpt(const MinGptSpaces& s, const MinGptConfig& config)
    : Module(""),
      spaces_(s),
      config_(config),
      wte_("transformer.wte", s.tokens, s.token_table, s.stream),
      wpe_("transformer.wpe", position_ids(s), s.position_table, position_stream(s)),
      positions_("btc", "tc"),
      drop_("transformer.drop", config.dropout),
      ln_f_("transformer.ln_f", s.stream),
      lm_head_(config.tied ? Linear("lm_head", "btc,vc->btv", s.stream, wte_.weight(), s.logits,
                                    {.bias = false, .contraction = config.contraction})
                           : Linear("lm_head", "btc,vc->btv", s.stream, s.logits_weight, s.logits,
                                    {.bias = false, .contraction = config.contraction})) {
  adopt(wte_, wpe_, drop_);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    blocks_.push_back(std::make_unique<Block>("transformer.h." + std::to_string(layer), s, config));
    adopt(*blocks_.back());
  }
  adopt(ln_f_, lm_head_);
}

Vector MinGpt::operator()(const Vector& ids) {
  const LayerScope layer = layer_scope();
  const std::int64_t T = ids.space().shape().back();
  RIESZ_CHECK(T <= config_.context, "minGPT: a sequence of ", T, " tokens is longer than the context of ",
              config_.context);
  const Space positions = position_ids(spaces_).with_shape({T});
  const Vector tok = wte_(ids);                                                          // (B, T, C)
  const Vector pos = wpe_(distribute(positions, at::arange(T, ids.local().options())));  // (T, C)
  Vector x(tok.space(), at::add(tok.local(), positions_(tok.space(), pos)));
  x = drop_(x);
  for (const auto& block : blocks_) x = (*block)(x);
  return lm_head_(ln_f_(x));  // (B, T, V)
}

std::string MinGpt::describe() const {
  return concat("minGPT: ", config_.layers, " layers, ", config_.heads, " heads, width ", config_.width,
                ", vocabulary ", config_.vocabulary, ", context ", config_.context);
}

}  // namespace riesz::models
