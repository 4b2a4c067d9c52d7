// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/model_cache.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

Attention::Attention(Module& owner, const std::string& name, const AttentionLayerOptions& options)
    : Layer({owner, name}),
      options_(options),
      dropout_({*this, "attn_dropout"}, options.dropout),
      queries_(spaces().attending(options.queries)),
      keys_(spaces().attending(options.keys)),
      packed_(insert_dim(queries_, 0, 3)) {
  set_range(spaces().inside(options.queries));
}

AttentionOptions Attention::settings(const AttentionCall& call) const {
  return {.causal = options_.causal,
          .window = options_.window,
          .scale = options_.scale,
          .dropout = &dropout_,
          .offset = call.offset,
          .mask = call.mask,
          .seen = call.seen};
}

KeyValueCache* Attention::cache_of(const AttentionCall& call) const {
  ModelCache* all = CacheScope::current();
  // Elsewhere the range is known without it, and calls of a known range do not come here.
  const bool here = range()->partition().active();
  if (call.cache != nullptr || !options_.causal || all == nullptr || !here) return call.cache;
  KeyValueCache& own =
      all->of(*this, [&] { return KeyValueCache(options_.window ? 0 : all->room(), options_.window); });
  RIESZ_CHECK(
      own.positions() == all->positions(), "Attention ", path(), ": its part of the ModelCache has ",
      own.positions(), " positions, but the calls so far had ", all->positions(),
      "; each call of a model has one CacheScope, and after an error in it the cache is to be cleared");
  return &own;
}

Vector Attention::from_cache(const Vector& q, const Vector& k, const Vector& v, const AttentionCall& call,
                             KeyValueCache& cache) const {
  const std::optional<std::int64_t> window = cache.window();
  RIESZ_CHECK(!window || (options_.window && *options_.window <= *window), "Attention ", path(),
              ": the cache keeps a window of ", window.value_or(0), " positions, but this layer sees ",
              options_.window ? std::to_string(*options_.window) : "all", " of them");
  RIESZ_CHECK(call.offset == 0, "Attention ", path(), ": an offset of ", call.offset,
              " beside a cache, which knows how many positions there were before");
  AttentionOptions options = settings(call);
  const std::int64_t before = cache.positions(), all = before + k.space().shape()[1];
  RIESZ_CHECK(!call.seen || (call.seen->space().dims() == 2 && call.seen->space().shape()[1] == all),
              "Attention ", path(), ": .seen in\n  ", call.seen ? to_string(call.seen->space()) : "",
              "\nbeside a cache, which has ", all,
              " positions with those of this call; it is of all of them, ", "(B, ", all, ")");
  cache.append(k, v);
  if (call.seen && cache.first() > 0) options.seen = slice(*call.seen, 1, cache.first(), all);
  options.offset = before - cache.first();
  return attention(q, cache.keys(), cache.values(), options);
}

Vector Attention::forward(const Vector& q, const Vector& k, const Vector& v,
                          const AttentionCall& call) const {
  const Vector queries = to_space(q, queries_);
  const Vector keys = to_space(k, keys_), values = to_space(v, keys_);
  KeyValueCache* const cache = cache_of(call);
  return to_space(cache != nullptr ? from_cache(queries, keys, values, call, *cache)
                                   : attention(queries, keys, values, settings(call)),
                  *range());
}

Vector Attention::forward(const Vector& qkv, const AttentionCall& call) const {
  const Vector attending = to_space(qkv, packed_);
  KeyValueCache* const cache = cache_of(call);
  if (cache == nullptr) return to_space(attention(attending, settings(call)), *range());
  const std::vector<Vector> parts = unbind(attending, 0);
  return to_space(from_cache(parts[0], parts[1], parts[2], call, *cache), *range());
}

std::string Attention::describe() const {
  return concat(options_.causal ? "causal " : "", "attention",
                options_.window ? concat(" through a window of ", *options_.window) : "");
}

}  // namespace riesz
