// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Which keys of each sequence are seen, as where batches are padded, and masks whose spaces letters say.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 13, S = 9, H = 6, G = 3, D = 2;

/// Where (B, keys) may lie on a grid, anyhow; each call gives the next.
class Places {
 public:
  Space operator()(const Partition& mesh, std::int64_t keys) {
    const Space M(mesh, {B, keys});
    const std::vector<Space> all{M.sharded(1, "tp"), M, M.sharded(0, "dp").zigzag(1, "tp"), M.copied("tp"),
                                 M.sharded(0, "tp").copied("dp")};
    return all[next_++ % all.size()];
  }

 private:
  std::size_t next_ = 0;
};

TEST(SeenKeys, IsTorchsWithTheSameMask) {
  const Space Q(Partition::simulated(1), {B, T, H, D});
  const at::Tensor q = draws({B, T, H, D}, 1), k = draws({B, T, H, D}, 2), v = draws({B, T, H, D}, 3);
  at::Tensor keys = padded_keys(B, T);
  keys.select(1, 0).fill_(true);  // else torch says NaN
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  for (const bool causal : {false, true}) {
    at::Tensor seen = keys.unsqueeze(1).unsqueeze(1);
    if (causal) seen = seen.logical_and(hidden_causally(T, T).logical_not());
    const at::Tensor expected =
        heads(at::scaled_dot_product_attention(heads(q), heads(k), heads(v), seen, 0.0, false));
    const Vector y = attention(Vector(Q, q), Vector(Q, k), Vector(Q, v),
                               {.causal = causal, .seen = Vector(Space(Q.partition(), {B, T}), keys)});
    EXPECT_TRUE(is_close(y.local(), expected));
  }
}

TEST(SeenKeys, ActWhereverAttentionIsComputed) {
  Places places;
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    const Space Q(mesh, {B, T, H, D}), K(mesh, {B, S, G, D});
    for (const bool causal : {false, true}) {
      const auto expect_seen = [&](const Space& X, const Space& Y) {
        expect_attention(X, Y, {.causal = causal, .seen = places(mesh, Y.shape()[1])});
      };
      expect_seen(Q.sharded(0, "dp").sharded(2, "tp"), Q.sharded(0, "dp").sharded(2, "tp"));
      expect_seen(Q.sharded(0, "dp"), K.sharded(0, "dp"));
      expect_seen(Q.sharded(1, "tp", Split::zigzag(T, p)), K);
      expect_seen(Q.sharded(1, "tp").sharded(1, "dp"), K);
      expect_seen(Q.sharded(0, "dp").sharded(1, "tp", Split::zigzag(T, p)),
                  Q.sharded(0, "dp").sharded(1, "tp", Split::zigzag(T, p)));
      expect_seen(Q.sharded(2, "dp").sharded(1, "tp"), K.copied("dp").sharded(1, "tp"));
    }
  }
}

/// Also pieces that are empty, on workers with rows and without.
TEST(SeenKeys, GoRoundARingOfAnySplits) {
  const Partition mesh = Partition::world().grid({{"dp", 1}, {"tp", Partition::world().size()}});
  const int p = mesh.extent("tp");
  std::vector<std::int64_t> last(static_cast<std::size_t>(p), 0);
  last.back() = T;
  const std::vector<Split> splits{Split::balanced(T, p), Split::zigzag(T, p), Split::sizes(last),
                                  Split::zigzag(T, p).rotated(1)};
  Places places;
  const Space X(mesh, {B, T, 3, D});
  for (std::size_t i = 0; i < splits.size(); ++i) {
    for (const bool causal : {false, true}) {
      expect_attention(X.sharded(1, "tp", splits[i]), X.sharded(1, "tp", splits[(i + 1) % 4]),
                       {.causal = causal, .seen = places(mesh, T)});
      expect_attention(X.sharded(1, "tp", splits[i]), X.sharded(1, "tp", splits[i]),
                       {.causal = causal, .seen = places(mesh, T)});
    }
  }
  const Space few(mesh, {B, 2, 3, D}), none(mesh, {B, 0, 3, D});
  expect_attention(X.sharded(1, "tp"), few.sharded(1, "tp"), {.seen = places(mesh, 2)});
  expect_attention(X.sharded(1, "tp"), none.sharded(1, "tp"), {.seen = places(mesh, 0)});
}

TEST(SeenKeys, ActBesideAllElse) {
  Places places;
  for (const Partition& mesh : meshes()) {
    const Space Q(mesh, {B, T, H, D}), K(mesh, {B, T, G, D});
    const std::vector<AttentionCase> cases{
        {.causal = true, .dropped = 0.4},
        {.causal = true, .offset = 2, .window = 4},
        {.causal = true, .dropped = 0.3, .window = 5},
        {.mask = Space(mesh, {B, T, T}), .boolean = true},
        {.causal = true, .mask = Space(mesh, {T, T})},
        {.mask = Space(mesh, {1, H, T, T})},
        {.causal = true, .mask = Space(mesh, {B, 1, T, T}), .boolean = true, .scale = -2},
        {.dropped = 0.2, .mask = Space(mesh, {1, H, 1, T})},
    };
    for (AttentionCase c : cases) {
      c.seen = places(mesh, T);
      expect_attention(Q.zigzag(1, "tp").sharded(0, "dp"), K.zigzag(1, "tp").sharded(0, "dp"), c);
      expect_attention(Q.sharded(0, "dp").sharded(2, "tp"), Q.sharded(0, "dp").sharded(2, "tp"), c);
    }
  }
}

/// Rows that see nothing are zero, and so are their gradients, in each type and by each way to compute.
TEST(SeenKeys, OfNoneAreZeroAndNoNumberIsNaN) {
  const Partition mesh = Partition::world().grid({{"sp", Partition::world().size()}});
  const Space X(mesh, {3, T, 2, 4});
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const Space& Y : {X.zigzag(1, "sp"), X.sharded(2, "sp")}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(std::string(at::toString(type)) + " in " + to_string(Y));
        const at::Tensor keys = padded_keys(3, T);
        std::vector<Vector> inputs;
        std::vector<at::Tensor> global;
        for (const std::uint64_t seed : {1, 2, 3}) {
          const at::Tensor drawn = draws(X.shape(), seed).to(type);
          global.push_back(drawn.to(at::kDouble).requires_grad_());
          inputs.push_back(leaf(Y, drawn));
        }
        const at::Tensor ybar = draws(X.shape(), 4).to(type);
        Chain chain;
        const Vector y = attention(inputs[0], inputs[1], inputs[2],
                                   {.causal = causal, .seen = distribute(Space(mesh, {3, T}), keys)});
        std::vector<Vector> found = pullback(y, distribute(dual(Y), ybar), inputs);
        found.push_back(y);
        at::Tensor hidden = keys.logical_not().unsqueeze(1).unsqueeze(1);
        if (causal) hidden = hidden.logical_or(hidden_causally(T, T));
        const at::Tensor expected =
            attention_formula(global[0], global[1], global[2], 0.5, at::zeros({1}, at::kDouble),
                              hidden.expand({3, 1, T, T}), at::ones({1}, at::kDouble));
        expected.backward(ybar.to(at::kDouble));
        const std::vector<at::Tensor> wanted{global[0].grad(), global[1].grad(), global[2].grad(), expected};
        for (std::size_t i = 0; i < found.size(); ++i) {
          const Vector in_double(found[i].space(), found[i].local().to(at::kDouble));
          EXPECT_EQ(found[i].local().scalar_type(), type);
          EXPECT_TRUE(means(in_double, wanted[i], type == at::kFloat ? 4e-6 : 1.0 / 32));
          if (Y.local_shape().front() > 0) {
            EXPECT_TRUE(found[i].local().select(0, 0).eq(0).all().item<bool>()) << "of no keys " << i;
          }
        }
      }
    }
  }
}

Traffic counted(const std::function<void()>& f) {
  const Traffic before = Counters::instance().total();
  f();
  return Counters::instance().total() - before;
}

/// Beside what K and V cost: a byte for each key, sent once to each other worker of the ring; backward
/// nothing.
TEST(SeenKeys, CostARingOneGatherOfBytes) {
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    for (const Split& split : {Split::balanced(12, p), Split::zigzag(13, p)}) {
      const Space X = Space(mesh, {B, split.extent(), H, D}).sharded(0, "dp").sharded(1, "tp", split);
      const Space M = Space(mesh, {B, split.extent()}).sharded(0, "dp").sharded(1, "tp", split);
      const Vector seen = distribute(M, padded_keys(B, split.extent()));
      std::vector<Traffic> forward, backward;
      for (const bool given : {false, true}) {
        const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2));
        const AttentionOptions options{.causal = true, .seen = given ? std::optional(seen) : std::nullopt};
        Chain chain;
        std::vector<Vector> y;
        forward.push_back(counted([&] { y.push_back(attention(q, k, k, options)); }));
        backward.push_back(counted([&] {
          pullback(y.front(), distribute(dual(X), draws(X.shape(), 3)), {q, k});
        }));
      }
      const std::int64_t n = (p - 1) * seen.local().numel();
      EXPECT_EQ((forward[1] - forward[0]).elements, n);
      EXPECT_EQ((forward[1] - forward[0]).bytes, n);
      EXPECT_EQ((forward[1] - forward[0]).messages, n > 0 ? p - 1 : 0);
      EXPECT_EQ(backward[1], backward[0]);
    }
  }
}

/// Neither scores nor masks of positions by keys are made: a few bytes a key more than without.
TEST(SeenKeys, MakeNothingOfPositionsByKeys) {
  const Partition mesh = Partition::world().grid({{"sp", Partition::world().size()}});
  constexpr std::int64_t positions = 4096;
  const Space X = Space(mesh, {1, positions, 1, 1}).zigzag(1, "sp");
  const Vector seen =
      distribute(Space(mesh, {1, positions}).zigzag(1, "sp"), padded_keys(2, positions).narrow(0, 1, 1));
  const Vector ybar = distribute(dual(X), draws(X.shape(), 4));
  for (const bool causal : {false, true}) {
    std::vector<std::int64_t> peak, largest;
    for (const bool given : {false, true}) {
      const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2));
      const AttentionOptions options{.causal = causal, .seen = given ? std::optional(seen) : std::nullopt};
      const MemoryMeter meter;
      Chain chain;
      pullback(attention(q, k, k, options), ybar, {q, k});
      peak.push_back(MemoryMeter::peak());
      largest.push_back(MemoryMeter::largest());
    }
    EXPECT_LE(peak[1], peak[0] + 64 * positions);
    EXPECT_LE(largest[1], largest[0]);
    EXPECT_LE(peak[1], 100 * 8 * positions);
  }
}

/// A region's second run gathers it again, and gives the same.
TEST(SeenKeys, AreTheSameInARegionThatRunsAgain) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {B, T, H, D}).sharded(0, "dp").zigzag(1, "tp");
    const Vector seen = distribute(Space(mesh, {B, T}).sharded(1, "tp"), padded_keys(B, T));
    std::vector<at::Tensor> gradients;
    for (const bool again : {false, true}) {
      const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2));
      const auto attend = [](const Vector& x, const Vector& y, const Vector& keys) {
        return attention(x, y, y, {.causal = true, .seen = keys});
      };
      Chain chain;
      const Vector y = again ? recompute(attend, q, k, seen) : attend(q, k, seen);
      for (const Vector& bar : pullback(y, distribute(dual(X), draws(X.shape(), 3)), {q, k}))
        gradients.push_back(bar.local());
    }
    EXPECT_SAME_BITS(gradients[0], gradients[2]);
    EXPECT_SAME_BITS(gradients[1], gradients[3]);
  }
}

Roles roles() {
  return {{'b', {Role::batch}},    {'t', {Role::sequence}}, {'s', {Role::sequence}},
          {'h', {Role::heads, H}}, {'d', {Role::whole, D}}, {'o', {Role::whole, 1}}};
}

std::vector<Layout> layouts() {
  const Partition world = Partition::world();
  const int p = world.size(), dp = p % 2 == 0 ? 2 : 1;
  const Partition tp = world.grid({{"dp", dp}, {"tp", p / dp}}),
                  sp = world.grid({{"dp", dp}, {"sp", p / dp}});
  return {spaces::one_d(tp), spaces::sequence_parallel(tp), spaces::ulysses(sp), spaces::ring(sp)};
}

class Attending : public Layer<Attending> {
 public:
  explicit Attending(const Layout& layout) : Layer("", ModelSpaces(layout, roles())) {}
  Vector forward(const Vector& q, const Vector& k, const AttentionCall& call) {
    return attend(q, k, k, call);
  }
  std::string describe() const override { return ""; }

  Attention attend{*this, "attend", {.causal = true}};
};

struct MaskByLetters {
  std::string letters;
  std::vector<std::int64_t> shape;
};

TEST(MaskLetters, SayWhereEachMaskLies) {
  const at::Tensor q = draws({B, T, H, D}, 1), k = draws({B, T, H, D}, 2), ybar = draws({B, T, H, D}, 3);
  for (const Layout& layout : layouts()) {
    Attending model(layout);
    const Space Q = model.spaces().inside("bthd").with_shape({B, T, H, D});
    for (const auto& [letters, shape] : std::vector<MaskByLetters>{{"bs", {B, T}},
                                                                   {"ts", {T, T}},
                                                                   {"bts", {B, T, T}},
                                                                   {"bots", {B, 1, T, T}},
                                                                   {"ohts", {1, H, T, T}},
                                                                   {"hts", {H, T, T}}}) {
      SCOPED_TRACE(layout.name + " " + letters);
      const Space M = model.spaces().inside(letters).with_shape(shape);
      const bool keys = letters == "bs";
      const at::Tensor global = keys ? padded_keys(B, T) : draws(shape, 5).requires_grad_();
      std::vector<Vector> inputs{leaf(Q, q), leaf(Q, k)};
      if (!keys) inputs.push_back(leaf(M, global));
      Chain chain;
      const Vector y =
          model(inputs[0], inputs[1],
                keys ? AttentionCall{.seen = distribute(M, global)}
                     : AttentionCall{.mask = AttentionMask(inputs[2], letters == "hts" ? letters : "")});
      const std::vector<Vector> bar = pullback(y, distribute(dual(Q), ybar), inputs);

      at::Tensor hidden = hidden_causally(T, T);
      if (keys) hidden = hidden.logical_or(global.logical_not().unsqueeze(1).unsqueeze(1));
      const at::Tensor queries = q.clone().requires_grad_();
      const at::Tensor added = keys               ? at::zeros({1}, at::kDouble)
                               : letters == "bts" ? global.unsqueeze(1)
                                                  : global;
      const at::Tensor expected =
          attention_formula(queries, k, k, 1 / std::sqrt(2.0), added, keys ? hidden : hidden.expand({T, T}),
                            at::ones({1}, at::kDouble));
      expected.backward(ybar);
      EXPECT_TRUE(means(y, expected));
      EXPECT_TRUE(means(bar[0], queries.grad()));
      if (!keys) {
        EXPECT_TRUE(means(bar[2], global.grad()));
      }
    }
  }
}

/// Does it shard sequences where attention is computed?
bool is_ring(const Layout& layout) {
  return !ModelSpaces(layout, roles()).attending("bthd").shards(1).empty();
}

/// Prompts padded on their left, then a token each.
TEST(SeenKeys, AreOfAllPositionsBesideACache) {
  const at::NoGradGuard guard;
  const at::Tensor q = draws({B, T, H, D}, 1), k = draws({B, T, H, D}, 2), keys = padded_keys(B, T);
  for (const Layout& layout : layouts()) {
    if (is_ring(layout)) continue;
    for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(4)}) {
      SCOPED_TRACE(layout.name);
      class Windowed : public Layer<Windowed> {
       public:
        Windowed(const Layout& at, std::optional<std::int64_t> reach)
            : Layer("", ModelSpaces(at, roles())),
              attend(*this, "attend", {.causal = true, .window = reach}) {}
        std::string describe() const override { return ""; }
        Attention attend;
      } model(layout, window);
      const Space Q = model.spaces().inside("bthd");
      const auto lying = [&](const at::Tensor& x) { return distribute(Q.with_shape(x.sizes().vec()), x); };
      const auto seen_of = [&](std::int64_t n) {
        return distribute(model.spaces().inside("bs").with_shape({B, n}), keys.narrow(1, 0, n));
      };
      const at::Tensor whole =
          full_tensor(model.attend(lying(q), lying(k), lying(k), AttentionCall{.seen = seen_of(T)}));
      KeyValueCache cache(0, window);
      for (const std::int64_t n : {7, 1, 1, 3, 1}) {
        const std::int64_t before = cache.positions();
        const Vector now = lying(k.narrow(1, before, n));
        const Vector y = model.attend(lying(q.narrow(1, before, n)), now, now,
                                      AttentionCall{.seen = seen_of(before + n), .cache = &cache});
        EXPECT_TRUE(means(y, whole.narrow(1, before, n))) << before;
      }
      EXPECT_ERROR(
          model.attend(lying(q), lying(k), lying(k), AttentionCall{.seen = seen_of(T), .cache = &cache}),
          "Attention attend", "beside a cache, which has 26 positions", "(B, 26)");
      EXPECT_EQ(cache.positions(), T);
    }
  }
}

TEST(SeenKeys, SayWhatDoesNotFit) {
  const Partition alone = Partition::simulated(1);
  const Space X(alone, {B, T, H, D});
  const Vector x(X, draws(X.shape(), 1));
  const auto of = [&](const std::vector<std::int64_t>& shape, at::ScalarType type) {
    return Vector(Space(alone, shape), at::ones(shape, type));
  };
  EXPECT_ERROR(attention(x, x, x, {.seen = of({B, T - 1}, at::kBool)}), "so it is of (B, S), here [5, 13]",
               "is a .mask");
  EXPECT_ERROR(attention(x, x, x, {.seen = of({B, T}, at::kDouble)}), ".seen of Double",
               "booleans or integers");
  EXPECT_ERROR(attention(x, x, x, {.mask = of({B, T}, at::kBool)}),
               "of (B, S), which keys are seen, is .seen");
  EXPECT_ERROR(attention(x, x, x, {.mask = of({H, T, T}, at::kDouble)}), "AttentionMask(mask, \"hts\")");
  for (const std::string dims : {"ht", "tsh", "s", "bhts", "xts"})
    EXPECT_ERROR(attention(x, x, x, {.mask = AttentionMask(of({H, T, T}, at::kDouble), dims)}),
                 "attention: a mask of \"" + dims + "\"", "the last one s");
}

}  // namespace
}  // namespace riesz::testing
