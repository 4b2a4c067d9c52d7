// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/llama.h"

#include "riesz/comm/error.h"
#include "riesz/models/last_position.h"

namespace riesz::models {

Roles LlamaConfig::roles() const {
  RIESZ_CHECK(layers >= 1 && heads >= 1 && key_value_heads >= 1 && width >= 1 && hidden >= 1 &&
                  vocabulary >= 1 && context >= 1,
              "Llama: layers ", layers, ", heads ", heads, ", key_value_heads ", key_value_heads, ", width ",
              width, ", hidden ", hidden, ", vocabulary ", vocabulary, ", context ", context,
              "; each is at least 1");
  RIESZ_CHECK(heads % key_value_heads == 0, "Llama: ", heads, " query heads are no multiple of ",
              key_value_heads, " key and value heads");
  RIESZ_CHECK(head_width > 0 || width % heads == 0, "Llama: a width of ", width, " is no multiple of ", heads,
              " heads; give head_width");
  const std::int64_t d = head_width > 0 ? head_width : width / heads;
  RIESZ_CHECK(d % 2 == 0, "Llama: heads of a width of ", d, "; it must be even, for they turn in pairs");
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'c', {Role::width, width}},
          {'h', {Role::heads, heads}},
          {'g', {Role::key_value_heads, key_value_heads}},
          {'d', {Role::whole, d}},
          {'f', {Role::inner, hidden}},
          {'v', {Role::vocabulary, vocabulary}}};
}

Llama::Llama(const ModelSpaces& spaces, const LlamaConfig& config)
    : Layer("", spaces), config_(config), lm_head_([&] {
        const LinearOptions options = config.linear(false);
        return config.tied ? Linear(*this, "lm_head", "btc,vc->btv", embed_tokens_.weight(), options)
                           : Linear(*this, "lm_head", "btc,vc->btv", options);
      }()) {}

Vector Llama::embed(const Vector& ids, std::int64_t first) {
  const std::int64_t T = ids.space().shape().back();
  RIESZ_CHECK(first + T <= config_.context, "Llama: a sequence of ", first + T,
              " tokens is longer than the context of ", config_.context);
  return embed_tokens_(ids);
}

Vector Llama::forward(const Vector& ids) {
  return lm_head_(norm_(layers_(embed(ids, 0))));  // (B, T, V)
}

Vector Llama::forward(const Vector& ids, std::vector<KeyValueCache>& caches, bool last_alone) {
  Vector x = embed(ids, caches.front().positions());
  for (std::size_t i = 0; i < layers_.size(); ++i) x = layers_[i](x, &caches[i]);
  x = norm_(x);
  return lm_head_(last_alone ? last_position(x, *norm_.range()) : x);
}

std::string Llama::describe() const {
  return concat("Llama: ", config_.layers, " layers, ", config_.heads, " heads, ", config_.key_value_heads,
                " of keys, width ", config_.width, ", vocabulary ", config_.vocabulary, ", context ",
                config_.context);
}

}  // namespace riesz::models
