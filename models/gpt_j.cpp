// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/gpt_j.h"

#include "riesz/comm/error.h"
#include "riesz/models/last_position.h"
#include "riesz/nn/vectors/arithmetic.h"

namespace riesz::models {

Roles GptJConfig::roles() const {
  RIESZ_CHECK(layers >= 1 && heads >= 1 && width >= 1 && vocabulary >= 1 && context >= 1, "GPT-J: layers ",
              layers, ", heads ", heads, ", width ", width, ", vocabulary ", vocabulary, ", context ",
              context, "; each is at least 1");
  RIESZ_CHECK(width % heads == 0, "GPT-J: a width of ", width, " is no multiple of ", heads, " heads");
  RIESZ_CHECK(rotary_dims >= 0 && rotary_dims % 2 == 0 && rotary_dims <= width / heads,
              "GPT-J: ", rotary_dims, " dims turn, of ", width / heads,
              " a head has; they are even, and no more");
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'c', {Role::width, width}},
          {'h', {Role::heads, heads}},
          {'d', {Role::whole, width / heads}},
          {'f', {Role::inner, hidden > 0 ? hidden : 4 * width}},
          {'v', {Role::vocabulary, vocabulary}}};
}

LinearOptions GptJConfig::linear(bool bias) const { return {.bias = bias, .contraction = contraction}; }

Vector GptJ::embed(const Vector& ids, std::int64_t first) {
  const std::int64_t T = ids.space().shape().back();
  RIESZ_CHECK(first + T <= config_.context, "GPT-J: a sequence of ", first + T,
              " tokens is longer than the context of ", config_.context);
  return drop_(wte_(ids));
}

Vector GptJ::forward(const Vector& ids) {
  return lm_head_(ln_f_(blocks_(embed(ids, 0))));  // (B, T, V)
}

Vector GptJ::forward(const Vector& ids, std::vector<KeyValueCache>& caches, bool last_alone) {
  Vector x = embed(ids, caches.front().positions());
  for (std::size_t i = 0; i < blocks_.size(); ++i) x = blocks_[i](x, &caches[i]);
  x = ln_f_(x);
  return lm_head_(last_alone ? last_position(x, *ln_f_.range()) : x);
}

std::string GptJ::describe() const {
  return concat("GPT-J: ", config_.layers, " layers, ", config_.heads, " heads, width ", config_.width,
                ", vocabulary ", config_.vocabulary, ", context ", config_.context);
}

}  // namespace riesz::models
