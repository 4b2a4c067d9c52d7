// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What attention does where, as the placements say.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/attention/plan.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 13, S = 9, H = 3, D = 2;

std::vector<AttentionCase> cases(const Partition& mesh, std::int64_t keys) {
  const Space M(mesh, {T, keys});
  return {{},
          {.causal = true},
          {.dropped = 0.4},
          {.mask = M},
          {.causal = true, .dropped = 0.4, .mask = M.sharded(0, "tp")},
          {.causal = true, .mask = Space(mesh, {B, T, keys}).sharded(0, "dp"), .boolean = true},
          {.causal = true, .mask = Space(mesh, {B, H, T, keys}).sharded(3, "dp"), .scale = -2},
          {.mask = M.sharded(1, "tp"), .boolean = true}};
}

/// Each call tries the next three of the cases. A test has one of this, and has tried all cases by its end.
class SomeCases {
 public:
  ~SomeCases() { EXPECT_GE(tried_, kCases); }

  void operator()(const Space& Q, const Space& K) {
    const std::vector<AttentionCase> all = cases(Q.partition(), K.shape()[1]);
    ASSERT_EQ(all.size(), kCases);
    for (int i = 0; i < 3; ++i) expect_attention(Q, K, all[tried_++ % kCases]);
  }

 private:
  static constexpr std::size_t kCases = 8;
  std::size_t tried_ = 0;
};

TEST(Attention, IsTorchs) {
  const Space Q(Partition::simulated(1), {B, T, H, D});
  const at::Tensor q = draws({B, T, H, D}, 1), k = draws({B, S, H, D}, 2), v = draws({B, S, H, D}, 3);
  const at::Tensor mask = draws({T, S}, 4);
  const at::Tensor none = at::zeros({T, S}, at::kBool);
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  const auto torchs = [&](const std::optional<at::Tensor>& bias, bool causal) {
    return heads(at::scaled_dot_product_attention(heads(q), heads(k), heads(v), bias, 0.0, causal));
  };
  const Space K = Q.with_shape({B, S, H, D});
  const auto ours = [&](const AttentionOptions& options) {
    return attention(Vector(Q, q), Vector(K, k), Vector(K, v), options).local();
  };

  EXPECT_TRUE(is_close(ours({}), torchs(std::nullopt, false)));
  EXPECT_TRUE(is_close(ours({.causal = true}), torchs(std::nullopt, true)));
  EXPECT_TRUE(is_close(ours({.mask = Vector(Space(Q.partition(), {T, S}), mask)}), torchs(mask, false)));
  EXPECT_TRUE(is_close(attention_formula(q, k, v, 1 / std::sqrt(2.0), mask, none, at::ones({1}, at::kDouble)),
                       torchs(mask, false)));
}

TEST(Attention, IsLocalWhereBatchAndHeadsAreShardedAlike) {
  SomeCases expect_some;
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    const auto at_once = [&](const Space& X) {
      return std::vector<Space>{X, X.sharded(0, "dp").sharded(2, "tp"),
                                X.sharded(0, "tp", Split::zigzag(B, p)), X.sharded(2, "tp").sharded(2, "dp"),
                                X.copied("dp").sharded(2, "tp")};
    };
    const std::vector<Space> q = at_once(Space(mesh, {B, T, H, D}));
    const std::vector<Space> k = at_once(Space(mesh, {B, S, H, D}));
    const std::int64_t moved = Counters::instance().total().elements;
    for (std::size_t i = 0; i < q.size(); ++i) {
      const at::NoGradGuard guard;
      const Vector keys = leaf(k[i], draws(k[i].shape(), 2));
      attention(leaf(q[i], draws(q[i].shape(), 1)), keys, keys, {.causal = true});
    }
    EXPECT_EQ(Counters::instance().total().elements, moved) << "a local attention moves nothing";
    for (std::size_t i = 0; i < q.size(); ++i) {
      expect_some(q[i], k[i]);
      expect_some(q[i], q[i]);
    }
  }
}

TEST(Attention, TakesGatheredKeysWhereTheQueriesAreSharded) {
  SomeCases expect_some;
  for (const Partition& mesh : meshes()) {
    const Space Q = Space(mesh, {B, T, H, D}).sharded(2, "dp");
    for (const std::int64_t keys : {T, S}) {
      const Space K = Space(mesh, {B, keys, H, D}).sharded(2, "dp");
      for (const Split& split :
           {Split::balanced(T, mesh.extent("tp")), Split::zigzag(T, mesh.extent("tp"))}) {
        expect_some(Q.sharded(1, "tp", split), K.copied("tp"));
        expect_some(Q.sharded(1, "tp", split), K);  // Replicated: read as Copied
      }
      expect_some(Q.copied("tp"), K);
    }
    const Space all = Space(mesh, {B, T, H, D}).sharded(1, "tp").sharded(1, "dp");
    expect_some(all, Space(mesh, {B, S, H, D}).copied("tp"));
  }
}

TEST(Attention, OfNoPositionsIsZero) {
  for (const Partition& mesh : meshes()) {
    const Space Q(mesh, {B, T, H, D});
    const Space K(mesh, {B, 0, H, D});
    for (const bool causal : {false, true}) {
      expect_attention(Q, K, {.causal = causal});
      expect_attention(Q.sharded(1, "tp"), K.copied("tp"), {.causal = causal});
      expect_attention(Q.sharded(1, "tp"), K.sharded(1, "tp"), {.causal = causal});
      expect_attention(K.sharded(1, "tp"), Q.sharded(1, "tp"), {.causal = causal});
      expect_attention(K, Q, {.causal = causal});
    }
  }
}

TEST(Attention, RunsOnTwoAxesAtOnce) {
  SomeCases expect_some;
  for (const Partition& mesh : meshes()) {
    const int p = mesh.extent("tp");
    for (const std::int64_t keys : {T, S}) {
      const Space Q = Space(mesh, {B, T, H, D}).sharded(1, "tp", Split::zigzag(T, p));
      const Space K = Space(mesh, {B, keys, H, D}).sharded(1, "tp", Split::zigzag(keys, p));
      expect_some(Q.sharded(2, "dp"), K.sharded(2, "dp"));
      expect_some(Q.sharded(0, "dp"), K.sharded(0, "dp"));
      expect_some(Q.copied("dp"), K);
      expect_some(Q.sharded(1, "dp"), K);  // a ring over tp of rows that dp shards further
      expect_some(Q.sharded(1, "dp"), K.copied("dp"));
    }
  }
}

/// Any legal placements of q, and of k and v, on any grid.
struct Placements {
  Space Q, K;
};

Placements any_placements(RandomSpaces& random, const Partition& P, std::int64_t keys) {
  Placements at{Space(P, {B, T, H, D}), Space(P, {B, keys, H, D})};
  bool rings = false;
  for (const Axis& axis : P.axes()) {
    const auto& [name, p] = axis;
    const int way = random.any_of(8);
    if (way < 2) {
      const int dim = way == 0 ? 0 : 2;
      const bool own = at.Q.shards(dim).empty() && random.any_of(2) == 0;
      const Split split = random.split(at.Q.shape()[static_cast<std::size_t>(dim)], p);
      at.Q = own ? at.Q.sharded(dim, name, split) : at.Q.sharded(dim, name);
      at.K = own ? at.K.sharded(dim, name, split) : at.K.sharded(dim, name);
    } else if (way < 6) {
      const bool own = at.Q.shards(1).empty() && random.any_of(2) == 0;
      at.Q = own ? at.Q.sharded(1, name, random.split(T, p)) : at.Q.sharded(1, name);
      if (way == 2) at.K = at.K.copied(name);
      if (way > 3 && !rings) {
        at.K = random.any_of(2) == 0 ? at.K.sharded(1, name, random.split(keys, p)) : at.K.sharded(1, name);
        rings = true;
      }
    } else if (way == 6) {
      at.Q = at.Q.copied(name);
      if (random.any_of(2) == 0) at.K = at.K.copied(name);
    }
  }
  return at;
}

TEST(Attention, IsTheSameAtRandomPlacements) {
  RandomSpaces random(11);
  for (int trial = 0; trial < 40; ++trial) {
    const Partition P = random.grid(some_workers(random));
    const std::int64_t keys = random.any_of(2) == 0 ? T : 1 + random.any_of(12);
    const auto [Q, K] = any_placements(random, P, keys);
    AttentionCase c{.causal = random.any_of(2) == 0, .dropped = random.any_of(3) == 0 ? 0.4 : 0.0};
    if (random.any_of(2) == 0) {
      const std::vector<std::vector<std::int64_t>> shapes{{T, keys}, {B, T, keys}, {B, H, T, keys}};
      c.boolean = random.any_of(2) == 0;
      const Space M(P, shapes[static_cast<std::size_t>(random.any_of(3))]);
      c.mask = random.place(M, c.boolean ? std::vector<Placement>{Placement::Replicated, Placement::Copied}
                                         : std::vector<Placement>{Placement::Replicated, Placement::Copied,
                                                                  Placement::Partial});
    }
    expect_attention(Q, K, c);
  }
}

TEST(Attention, SaysWhichPlacementsDoNotFit) {
  const Partition P = Partition::simulated(4).grid({{"dp", 2}, {"sp", 2}});
  const Space Q(P, {B, T, H, D});
  const auto call = [&](const Space& X, const Space& Y) { return detail::plan_attention(X, Y); };

  EXPECT_ERROR(call(Q.sharded(0, "dp"), Q), "on axis dp q is Sharded(0) but k and v are Replicated",
               "(5, 13, 3, 2)", "with between(X, Y) to be Sharded(0), as q is on dp");
  EXPECT_ERROR(call(Q.sharded(2, "dp"), Q.sharded(1, "dp")), "q is Sharded(2) but k and v are Sharded(1)");
  EXPECT_ERROR(call(Q, Q.sharded(1, "sp")), "on axis sp q is Replicated but k and v are Sharded(1)",
               "to be Replicated, as q is on sp");
  EXPECT_ERROR(call(Q, Q.copied("sp")), "q is Replicated but k and v are Copied");
  EXPECT_ERROR(call(Q.copied("sp"), Q.sharded(1, "sp")), "to be Copied, as q is on sp");
  EXPECT_ERROR(call(Q.sharded(1, "sp"), Q.sharded(2, "sp")),
               "to be Copied (K, V gathered) or Sharded(1) (a ring) on sp");
  EXPECT_ERROR(call(Q.sharded(1, "dp").sharded(1, "sp"), Q.sharded(1, "dp").sharded(1, "sp")),
               "axes dp and sp shard dim 1 of k and v", "a ring goes along one", "to be Copied there");
  EXPECT_ERROR(call(Q.sharded(0, "dp", Split::sizes({1, 4})), Q.sharded(0, "dp")),
               "the batch, dim 0, is split in one way");
  EXPECT_ERROR(call(Q.sharded(2, "dp").sharded(2, "sp"), Q.sharded(2, "sp").sharded(2, "dp")),
               "the heads, dim 2");
  EXPECT_ERROR(call(Q.sharded(3, "dp"), Q), "axis dp shards the head width, dim 3");
  EXPECT_ERROR(call(Q.partial("dp"), Q), "Partial on axis dp");
  const Split halo = Split::covering(T, {{{0, 8}}, {{6, T}}});
  EXPECT_ERROR(call(Q.sharded(1, "sp"), Q.sharded(1, "sp", halo)),
               "the splits of dim 1, the sequence, overlap");
  EXPECT_ERROR(call(Q.sharded(1, "sp", halo), Q), "the splits of dim 1, the sequence, overlap");
}

TEST(Attention, SaysWhatElseDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space Q(P, {B, T, H, D});
  const auto ones = [](const Space& X, at::ScalarType type = at::kDouble) {
    return distribute(X, at::ones(X.shape(), type));
  };
  const auto call = [&](const Space& K, const AttentionOptions& options = {}) {
    return attention(ones(Q), ones(K), ones(K), options);
  };

  EXPECT_ERROR(call(Q.with_shape({B, T, H + 1, D})), "q has 3 and k has 4 in the heads, dim 2");
  EXPECT_ERROR(call(Space(P, {T, H, D})), "takes q of (B, T, heads, d)");
  EXPECT_ERROR(call(Space(Partition::simulated(3), {B, T, H, D})), "lie on different partitions");
  EXPECT_ERROR(attention(ones(Q), ones(Q), ones(Q.sharded(0, "world"))), "k and v lie in different spaces");
  EXPECT_ERROR(call(Q, {.mask = ones(Space(P, {T, S}))}), "a mask in", "(13, 9)",
               "takes one of (T, S), (B, T, S) or (B, heads, T, S)");
  EXPECT_ERROR(call(Q, {.mask = ones(Space(P, {T, T}), at::kLong)}), "a mask of Long");
  EXPECT_ERROR(call(Q, {.mask = ones(Space(P, {T, T}).partial("world"), at::kBool)}), "a mask of booleans");
}

}  // namespace
}  // namespace riesz::testing
