// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The layer Attention, in a model of letters: with a cache it gives what the whole forward gives.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/model_cache.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 2, T = 8, C = 12, H = 6, G = 3, D = 2;

const LinearOptions& no_bias() {
  static const LinearOptions options{.initial = {0, 0.5}, .bias = false};
  return options;
}

Roles roles() {
  return {{'b', {Role::batch}},    {'t', {Role::sequence}},           {'c', {Role::width, C}},
          {'h', {Role::heads, H}}, {'g', {Role::key_value_heads, G}}, {'d', {Role::whole, D}},
          {'q', {Role::whole, 3}}};
}

/// On all workers: each way to lay attention out, with a part of the workers on the batch where they divide.
std::vector<Layout> layouts() {
  const Partition world = Partition::world();
  const int p = world.size(), dp = p % 2 == 0 ? 2 : 1;
  const Partition tp = world.grid({{"dp", dp}, {"tp", p / dp}}),
                  sp = world.grid({{"dp", dp}, {"sp", p / dp}});
  return {spaces::one_d(tp), spaces::sequence_parallel(tp), spaces::ulysses(sp), spaces::ring(sp)};
}

/// Does it shard sequences where attention is computed?
bool is_ring(const Layout& layout) {
  return !ModelSpaces(layout, roles()).attending("bthd").shards(1).empty();
}

/// (B, T, C) → (B, T, C), of grouped heads, each at its position.
class Block : public Layer<Block> {
 public:
  Block(const ModelSpaces& spaces, const AttentionLayerOptions& options)
      : Layer("", spaces), attend(*this, "attend", options) {}

  Vector forward(const Vector& x, KeyValueCache* cache = nullptr) {
    const RotaryOptions from{.offset = cache != nullptr ? cache->positions() : first_position()};
    return o(attend(rotary(q(x), from), rotary(k(x), from), v(x), AttentionCall{.cache = cache}));
  }
  std::string describe() const override { return ""; }

  Linear q{*this, "q", "btc,chd->bthd", no_bias()};
  Linear k{*this, "k", "btc,cgd->btgd", no_bias()};
  Linear v{*this, "v", "btc,cgd->btgd", no_bias()};
  Attention attend;
  Linear o{*this, "o", "bthd,hdc->btc", no_bias()};
};

/// The layers' own weights on one worker, at no layout.
at::Tensor alone(const AttentionLayerOptions& options, const at::Tensor& x) {
  Block block(ModelSpaces(spaces::one_d(Partition::simulated(1)), roles()), options);
  block.initialise(1, at::kDouble);
  return block(Vector(block.spaces().stream("btc").with_shape(x.sizes().vec()), x)).local();
}

TEST(AttentionLayer, GeneratesWithACacheWhatTheWholeForwardGives) {
  const at::NoGradGuard guard;
  const at::Tensor x = draws({B, T, C}, 1);
  for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)}) {
    const AttentionLayerOptions options{.keys = "btgd", .causal = true, .window = window, .scale = 0.9};
    const at::Tensor expected = alone(options, x);
    for (const Layout& layout : layouts()) {
      SCOPED_TRACE(layout.name + (window ? ", window" : ""));
      Block block(ModelSpaces(layout, roles()), options);
      block.initialise(1, at::kDouble);
      const Space X = block.spaces().stream("btc");
      EXPECT_TRUE(means(block(distribute(X.with_shape({B, T, C}), x)), expected));
      if (is_ring(layout)) continue;
      KeyValueCache cache(0, window);
      for (const std::int64_t n : {3, 1, 1, 2, 1}) {
        const std::int64_t before = cache.positions();
        const Vector y = block(distribute(X.with_shape({B, n, C}), x.narrow(1, before, n)), &cache);
        EXPECT_TRUE(means(y, expected.narrow(1, before, n))) << before;
        EXPECT_EQ(cache.keys().space().shape()[1], window ? std::min(before, *window - 1) + n : before + n);
      }
    }
  }
}

/// A model's cache: each layer's part of it, copied and cleared as one, and left alone by what is not causal.
TEST(AttentionLayer, KeepsItsPositionsInTheModelsCache) {
  const at::NoGradGuard guard;
  const at::Tensor x = draws({B, T, C}, 1);
  const AttentionLayerOptions options{.keys = "btgd", .causal = true};
  const at::Tensor expected = alone(options, x);
  for (const Layout& layout : layouts()) {
    if (is_ring(layout)) continue;
    SCOPED_TRACE(layout.name);
    Block block(ModelSpaces(layout, roles()), options), open(ModelSpaces(layout, roles()), {.keys = "btgd"});
    block.initialise(1, at::kDouble), open.initialise(1, at::kDouble);
    const Space X = block.spaces().stream("btc");
    const auto next = [&](Block& of, ModelCache& cache, std::int64_t n) {
      const std::int64_t before = cache.positions();
      const CacheScope scope(cache, n);
      return of(distribute(X.with_shape({B, n, C}), x.narrow(1, before, n)));
    };
    ModelCache cache(4);
    EXPECT_TRUE(means(next(block, cache, 3), expected.narrow(1, 0, 3)));
    ModelCache beam = cache;
    for (ModelCache* each : {&cache, &beam})
      for (const std::int64_t at : {3, 4})
        EXPECT_TRUE(means(next(block, *each, 1), expected.narrow(1, at, 1)));
    cache.clear();
    EXPECT_EQ(cache.positions(), 0);
    EXPECT_TRUE(means(next(block, cache, 4), expected.narrow(1, 0, 4)));
    EXPECT_EQ(cache.positions(), 4);
    EXPECT_EQ(first_position(), 0);

    ModelCache unused;
    for (const std::int64_t from : {0, 2}) {
      const Vector alone_open = open(distribute(X.with_shape({B, 2, C}), x.narrow(1, from, 2)));
      EXPECT_TRUE(means(next(open, unused, 2), full_tensor(alone_open))) << from;
    }

    ModelCache broken;
    EXPECT_THROW(
        {
          const CacheScope scope(broken, 2);
          block(distribute(X.with_shape({B, 2, C}), x.narrow(1, 0, 2)));
          throw std::runtime_error("the call ends early");
        },
        std::runtime_error);
    EXPECT_ERROR(next(block, broken, 2),
                 "Attention attend: its part of the ModelCache has 2 positions, but the "
                 "calls so far had 0");
    broken.clear();
    EXPECT_TRUE(means(next(block, broken, 2), expected.narrow(1, 0, 2)));
  }
}

TEST(AttentionLayer, PassesOnAllThatACallSays) {
  const at::NoGradGuard guard;
  const at::Tensor q = draws({B, T, H, D}, 1), k = draws({B, T, G, D}, 2), v = draws({B, T, G, D}, 3);
  const at::Tensor bias = draws({T, T}, 4);
  const auto for_each_query_head = [](const at::Tensor& x) { return at::repeat_interleave(x, H / G, 2); };
  const at::Tensor expected = attention_formula(q, for_each_query_head(k), for_each_query_head(v), 0.3, bias,
                                                hidden_causally(T, T, 2, 4), at::ones({1}, at::kDouble));
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    Block block(ModelSpaces(layout, roles()), {.keys = "btgd", .causal = true, .window = 4, .scale = 0.3});
    const Space Q = block.spaces().inside("bthd").with_shape({B, T, H, D});
    const Space K = block.spaces().inside("btgd").with_shape({B, T, G, D});
    const Vector y =
        block.attend(distribute(Q, q), distribute(K, k), distribute(K, v),
                     AttentionCall{.offset = 2, .mask = distribute(Space(layout.mesh, {T, T}), bias)});
    EXPECT_EQ(y.space(), Q);
    EXPECT_TRUE(means(y, expected));
  }
}

/// Of projections in one: the same.
TEST(AttentionLayer, TakesProjectionsInOne) {
  const at::NoGradGuard guard;
  const at::Tensor qkv = draws({3, B, T, H, D}, 1), bias = draws({T, T}, 4);
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    Block block(ModelSpaces(layout, roles()), {.causal = true, .window = 4});
    const Space X = block.spaces().inside("qbthd");
    const Space Q = block.spaces().inside("bthd").with_shape({B, T, H, D});
    const std::vector<at::Tensor> parts{qkv[0], qkv[1], qkv[2]};
    const AttentionCall call{.offset = 1, .mask = distribute(Space(layout.mesh, {T, T}), bias)};
    const Vector apart =
        block.attend(distribute(Q, parts[0]), distribute(Q, parts[1]), distribute(Q, parts[2]), call);
    const at::Tensor whole = full_tensor(apart);
    EXPECT_TRUE(means(block.attend(distribute(X.with_shape({3, B, T, H, D}), qkv), call), whole));
    if (is_ring(layout)) continue;
    const at::Tensor one_by_one =
        full_tensor(block.attend(distribute(Q, parts[0]), distribute(Q, parts[1]), distribute(Q, parts[2])));
    KeyValueCache cache(2, 9);
    for (std::int64_t t = 0; t < T; ++t) {
      const Vector y = block.attend(distribute(X.with_shape({3, B, 1, H, D}), qkv.narrow(2, t, 1)),
                                    AttentionCall{.cache = &cache});
      EXPECT_TRUE(means(y, one_by_one.narrow(1, t, 1))) << t;
    }
  }
}

TEST(ToSpace, BringsAVectorToEachSpaceThatIsAskedFor) {
  const Partition world = Partition::world();
  const Space X = Space(world, {6, 5}).sharded(0, "world"), Y(world, {Space::any, 5});
  const at::Tensor global = draws({6, 5}, 1);
  const at::NoGradGuard guard;
  for (const Space& to : {Y, Y.sharded(1, "world"), Y.copied("world"), Y}) {
    const Vector y = to_space(distribute(X, global), to);
    EXPECT_EQ(y.space(), to.with_shape({6, 5}));
    EXPECT_TRUE(means(y, global));
  }
  for (const std::vector<std::int64_t>& other : {std::vector<std::int64_t>{6}, {6, 4}})
    EXPECT_ERROR(to_space(distribute(X, global), Space(world, other)), "has other dims or extents than");
}

TEST(AttentionLayer, SaysWhatDoesNotFit) {
  const at::NoGradGuard guard;
  const ModelSpaces spaces(spaces::one_d(Partition::simulated(1)), roles());
  Block all(spaces, {.causal = true}), some(spaces, {.causal = true, .window = 4});
  const Space Q = spaces.inside("bthd").with_shape({B, T, H, D});
  const Vector q = distribute(Q, draws(Q.shape(), 1));
  KeyValueCache narrow(0, 3), wide(0, 4);

  EXPECT_ERROR(all.attend(q, q, q, AttentionCall{.cache = &wide}), "Attention attend",
               "the cache keeps a window of 4 positions, but this layer sees all of them");
  EXPECT_ERROR(some.attend(q, q, q, AttentionCall{.cache = &narrow}),
               "a window of 3 positions, but this layer sees 4");
  EXPECT_ERROR(some.attend(q, q, q, AttentionCall{.offset = 1, .cache = &wide}),
               "an offset of 1 beside a cache");
  EXPECT_EQ(wide.positions(), 0);
}

}  // namespace
}  // namespace riesz::testing
