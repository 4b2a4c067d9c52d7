// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/key_value_cache.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 3, T = 11, H = 6, G = 2, D = 4;

Space of_positions(const Space& X, std::int64_t n) {
  return X.with_shape({X.shape()[0], n, X.shape()[2], X.shape()[3]});
}

/// Positions of a global tensor, in X.
Vector at_positions(const Space& X, const at::Tensor& global, std::int64_t begin, std::int64_t n) {
  return distribute(of_positions(X, n), global.narrow(1, begin, n));
}

/// Runs of tokens, each attending to all before, against attention of all at once.
void expect_generated(const Space& Q, const Space& K, std::int64_t capacity,
                      std::optional<std::int64_t> window) {
  SCOPED_TRACE("q in " + to_string(Q) + "\nk, v in " + to_string(K));
  const at::NoGradGuard guard;
  const at::Tensor q = draws(Q.shape(), 1), k = draws(K.shape(), 2), v = draws(K.shape(), 3);
  const Vector whole = attention(rotary(distribute(Q, q)), rotary(distribute(K, k)), distribute(K, v),
                                 {.causal = true, .window = window});
  KeyValueCache cache(capacity, window);
  const Traffic moved = Counters::instance().total();
  for (const std::int64_t n : {4, 1, 1, 2, 1, 1, 1}) {
    const std::int64_t before = cache.positions();
    cache.append(rotary(at_positions(K, k, before, n), {.offset = before}), at_positions(K, v, before, n));
    const Vector y =
        attention(rotary(at_positions(Q, q, before, n), {.offset = before}), cache.keys(), cache.values(),
                  {.causal = true, .window = window, .offset = before - cache.first()});
    if (Q.partition().active()) {
      EXPECT_TRUE(is_close(y.local(), whole.local().narrow(1, before, n)));
    }
  }
  EXPECT_EQ(cache.positions(), T);
  EXPECT_EQ(Counters::instance().total(), moved) << "generation moves nothing";
  EXPECT_TRUE(means(cache.values(), v.narrow(1, cache.first(), T - cache.first())));
  EXPECT_EQ(cache.first(), window ? T - *window : 0) << "the last position sees no more";
}

TEST(KeyValueCache, GeneratesWhatTheWholeForwardGives) {
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    const Space Q(mesh, {B, T, H, D}), K(mesh, {B, T, G, D});
    std::vector<Intervals> needs;
    const Split heads = Split::balanced(H, p);
    for (int worker = 0; worker < p; ++worker) {
      const Interval mine = heads[worker];
      needs.push_back(mine.size() > 0 ? Intervals{{mine.begin / 3, (mine.end - 1) / 3 + 1}} : Intervals{});
    }
    const Space by_heads = Q.sharded(2, "tp").sharded(0, "dp");
    for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)}) {
      expect_generated(by_heads, K.sharded(2, "tp", Split::covering(G, needs)).sharded(0, "dp"), 0, window);
      expect_generated(by_heads, K.sharded(0, "dp"), T, window);
      expect_generated(Q.sharded(0, "tp"), K.sharded(0, "tp"), 5, window);
      expect_generated(Q, K, 0, window);
    }
  }
}

/// Beams that share their beginning: what one appends, the other does not see.
TEST(KeyValueCache, IsCopiedByValue) {
  const at::NoGradGuard guard;
  for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)}) {
    const Space K = Space(Partition::world(), {B, 1, 12, D}).sharded(2, "world");
    const auto at_position = [&](std::uint64_t i) { return distribute(K, draws(K.shape(), i)); };
    KeyValueCache one(16, window);
    for (const std::uint64_t i : {1, 2, 3, 4}) one.append(at_position(i), at_position(10 + i));
    KeyValueCache other = one;
    KeyValueCache third;
    third = other;
    const Vector before = one.keys();
    EXPECT_EQ(other.keys().local().const_data_ptr(), before.local().const_data_ptr())
        << "none before an append";
    one.append(at_position(5), at_position(15));
    other.append(at_position(6), at_position(16));
    third.clear();
    third.append(at_position(7), at_position(17));
    one.append(at_position(8), at_position(18));
    const auto ends = [&](const KeyValueCache& cache, std::vector<std::uint64_t> with) {
      const std::int64_t n = cache.positions() - cache.first();
      const auto last = static_cast<std::int64_t>(with.size());
      for (std::int64_t i = std::max<std::int64_t>(0, last - n); i < last; ++i) {
        const std::uint64_t seed = with[static_cast<std::size_t>(i)];
        EXPECT_TRUE(
            means(Vector(K, cache.keys().local().narrow(1, n - last + i, 1)), draws(K.shape(), seed)));
        EXPECT_TRUE(
            means(Vector(K, cache.values().local().narrow(1, n - last + i, 1)), draws(K.shape(), 10 + seed)));
      }
    };
    ends(one, {1, 2, 3, 4, 5, 8});
    ends(other, {1, 2, 3, 4, 6});
    ends(third, {7});
  }
}

TEST(KeyValueCache, GrowsByDoublingAndKeepsItsRoom) {
  const Space K(Partition::simulated(1), {B, 1, G, D});
  const Vector k(K, draws(K.shape(), 1));
  KeyValueCache cache;
  std::vector<const void*> rooms;
  for (int i = 0; i < 64; ++i) {
    cache.append(k, k);
    if (rooms.empty() || rooms.back() != cache.keys().local().storage().data())
      rooms.push_back(cache.keys().local().storage().data());
  }
  EXPECT_EQ(rooms.size(), 7U) << "1, 2, 4, … 64 positions";
  cache.clear();
  EXPECT_EQ(cache.positions(), 0);
  cache.append(k, k);
  EXPECT_EQ(cache.keys().local().storage().data(), rooms.back());
  EXPECT_EQ(cache.keys().space(), K);
}

TEST(KeyValueCache, KeepsWhatAWindowNeedsInARoomThatDoesNotGrow) {
  constexpr std::int64_t window = 5, positions = 100;
  const Space K(Partition::simulated(1), {B, positions, G, D});
  const at::Tensor k = draws(K.shape(), 1), v = draws(K.shape(), 2);
  KeyValueCache cache(0, window);
  std::int64_t most = 0;
  for (std::int64_t t = 0; t < positions; ++t) {
    cache.append(at_positions(K, k, t, 1), at_positions(K, v, t, 1));
    const std::int64_t first = std::max<std::int64_t>(t + 1 - window, 0);
    ASSERT_EQ(cache.first(), first);
    ASSERT_EQ(cache.positions(), t + 1);
    ASSERT_TRUE(cache.keys().local().equal(k.narrow(1, first, t + 1 - first)));
    ASSERT_TRUE(cache.values().local().equal(v.narrow(1, first, t + 1 - first)));
    most = std::max<std::int64_t>(most, static_cast<std::int64_t>(cache.keys().local().storage().nbytes()));
  }
  EXPECT_EQ(most, 2 * B * (2 * (window - 1) + 1) * G * D * 8);
  cache.append(at_positions(K, k, 0, 40), at_positions(K, v, 0, 40));
  EXPECT_EQ(cache.first(), positions - (window - 1));
  EXPECT_TRUE(cache.keys().local().narrow(1, window - 1, 40).equal(k.narrow(1, 0, 40)));
  cache.clear();
  EXPECT_EQ(cache.positions(), 0);
}

TEST(KeyValueCache, TakesAnAxisOfOneWorkerOnTheSequenceAndOthersAfterClear) {
  const Partition mesh = Partition::simulated(1).grid({{"sp", 1}, {"tp", 1}});
  const Space K = Space(mesh, {B, 4, G, D}).sharded(1, "sp", Split::balanced(4, 1));
  const Vector k(K, draws(K.shape(), 1));
  KeyValueCache cache;
  for (int i = 0; i < 3; ++i) cache.append(k, k);
  EXPECT_EQ(cache.keys().space().shape()[1], 12);
  cache.clear();
  const Space other(mesh, {B + 1, 2, G, D});
  cache.append(Vector(other, draws(other.shape(), 2)), Vector(other, draws(other.shape(), 3)));
  EXPECT_EQ(cache.keys().space(), other);
  cache.clear();
  const Vector half(other, draws(other.shape(), 2).to(at::kBFloat16));
  cache.append(half, half);
  EXPECT_EQ(cache.keys().local().scalar_type(), at::kBFloat16);
}

TEST(KeyValueCache, SaysWhatDoesNotFit) {
  const Space K(Partition::simulated(2), {B, T, G, D});
  const auto made = [](const Space& X) { return distribute(X, draws(X.shape(), 1)); };
  const auto append = [&](const Space& X, const Space& Y) {
    KeyValueCache cache;
    cache.append(made(X), made(X));
    cache.append(made(Y), made(Y));
  };

  EXPECT_ERROR(KeyValueCache().keys(), "before any were appended");
  EXPECT_ERROR(KeyValueCache(-1), "a capacity of -1");
  EXPECT_ERROR(KeyValueCache(0, 0), "a window of 0 positions");
  EXPECT_ERROR(append(K.sharded(1, "world"), K), "axis world shards the sequence, dim 1",
               "generate with the model at a layout that shards heads or batch",
               "p.set(full_tensor(q.get()))", "between(X, Y)");
  EXPECT_ERROR(append(K, K.sharded(2, "world")), "holds positions of vectors in", "world replicated",
               "bring one to the other's space with between(X, Y); or clear() it");
  EXPECT_ERROR(append(K, Space(K.partition(), {B + 1, T, G, D})), "holds positions of vectors in",
               "their shapes differ", "which no between(X, Y) mends", "; or clear() it");
  EXPECT_ERROR(append(K.partial("world"), K), "KeyValueCache", "Partial on axis world");
  EXPECT_ERROR(append(Space(Partition::simulated(2), {T, G, D}), K), "takes k and v of (B, n, heads, d)");
  EXPECT_ERROR(KeyValueCache().append(leaf(K, draws(K.shape(), 1)), made(K)), "has a gradient",
               "NoGradGuard");
  EXPECT_ERROR(KeyValueCache().append(made(K), made(K.sharded(0, "world"))),
               "k and v lie in different spaces");
  const Vector wide = made(K), narrow(K, wide.local().to(at::kFloat));
  EXPECT_ERROR(KeyValueCache().append(wide, narrow), "k has elements of type Double and v of type Float");
  KeyValueCache cache;
  cache.append(wide, wide);
  EXPECT_ERROR(cache.append(narrow, narrow), "holds elements of type Double but is given some of type Float",
               "or clear() it");
}

}  // namespace
}  // namespace riesz::testing
