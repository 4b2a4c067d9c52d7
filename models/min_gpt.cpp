// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt.h"

#include <ATen/ops/arange.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/models/last_position.h"
#include "riesz/nn/vectors/arithmetic.h"

namespace riesz::models {
namespace {

constexpr double kDeviation = 0.02;

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

LinearOptions MinGptConfig::linear() const {
  return {.initial = Initial::normal(kDeviation), .contraction = contraction};
}

LinearOptions MinGptConfig::back_to_stream() const {
  const double projections = 2.0 * static_cast<double>(layers);
  return {.initial = Initial::normal(kDeviation / std::sqrt(projections)), .contraction = contraction};
}

MinGpt::MinGpt(const Layout& layout, const MinGptConfig& config)
    : MinGpt(ModelSpaces(layout, config.roles()), config) {}

MinGpt::MinGpt(const ModelSpaces& spaces, const MinGptConfig& config)
    : Layer("", spaces), config_(config), lm_head_([&] {
        LinearOptions options = config.linear();
        options.bias = false;
        return config.tied ? Linear(*this, "lm_head", "btc,vc->btv", wte_.weight(), options)
                           : Linear(*this, "lm_head", "btc,vc->btv", options);
      }()) {}

Vector MinGpt::embed(const Vector& ids, std::int64_t first) {
  const std::int64_t T = ids.space().shape().back();
  RIESZ_CHECK(first + T <= config_.context, "minGPT: a sequence of ", first + T,
              " tokens is longer than the context of ", config_.context);
  const Space t = wpe_.spaces().stream("t").with_shape({T});
  const Vector tok = wte_(ids);                                                                 // (B, T, C)
  const Vector pos = wpe_(distribute(t, at::arange(first, first + T, ids.local().options())));  // (T, C)
  return drop_(add(tok, "btc", pos, "tc"));
}

Vector MinGpt::forward(const Vector& ids) {
  return lm_head_(ln_f_(blocks_(embed(ids, 0))));  // (B, T, V)
}

Vector MinGpt::forward(const Vector& ids, std::vector<KeyValueCache>& caches, bool last_alone) {
  Vector x = embed(ids, caches.front().positions());
  for (std::size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i](x, &caches[i]);
  x = ln_f_(x);
  return lm_head_(last_alone ? last_position(x, *ln_f_.range()) : x);
}

std::string MinGpt::describe() const {
  return concat("minGPT: ", config_.layers, " layers, ", config_.heads, " heads, width ", config_.width,
                ", vocabulary ", config_.vocabulary, ", context ", config_.context);
}

}  // namespace riesz::models
