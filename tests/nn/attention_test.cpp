// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/attention.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "expect.h"
#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/module.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 4, T = 5, H = 3, D = 2;
constexpr double kDropped = 0.4;

class Model : public Module {
 public:
  explicit Model(double p) : Module("h.0"), drop({*this, "attn_dropout"}, p) {}
  std::string describe() const override { return ""; }

  ContextScope scope{{.training = true, .seed = 7, .step = 3}};
  Dropout drop;
};

/// Per sequence and head: softmax of the scores of positions up to one's own, times the mask of (B, H, T, T),
/// times v.
at::Tensor formula(const at::Tensor& qkv, const at::Tensor& mask) {
  const auto heads = [&](std::int64_t i) { return qkv.select(0, i).transpose(1, 2); };
  const at::Tensor scores =
      at::matmul(heads(0), heads(1).transpose(2, 3)).div(std::sqrt(static_cast<double>(D)));
  const at::Tensor later = at::ones({T, T}, at::kDouble).triu(1).gt(0);
  const at::Tensor weights =
      at::softmax(scores.masked_fill(later, -std::numeric_limits<double>::infinity()), -1);
  return at::matmul(weights.mul(mask), heads(2)).transpose(1, 2);
}

void expect_dense(const Space& X, double p) {
  SCOPED_TRACE("in " + to_string(X) + ", dropping " + std::to_string(p));
  const Model model(p);
  const at::Tensor x_global = draws({3, B, T, H, D}, 1).requires_grad_();
  const at::Tensor ybar = draws({B, T, H, D}, 2);
  const at::Tensor mask = detail::dropout_mask(Space(Partition::simulated(1), {B, H, T, T}),
                                               philox_key(7, "h.0.attn_dropout"), 3, p, at::kDouble);
  const Vector qkv = leaf(X, x_global.detach());

  Chain chain;
  const Vector y = attention(qkv, {.causal = true, .dropout = &model.drop});
  const Vector gradient = pullback(y, distribute(dual(y.space()), ybar), {qkv}).front();

  const at::Tensor expected = formula(x_global, mask);
  expected.backward(ybar);
  EXPECT_TRUE(means(y, expected));
  EXPECT_TRUE(means(gradient, x_global.grad()));
}

TEST(CausalAttention, IsPerSequenceAndHeadAtEveryLayout) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {3, B, T, H, D});
    for (const double p : {0.0, kDropped}) {
      expect_dense(X, p);
      expect_dense(X.sharded(3, "tp"), p);  // 3 heads, also on 2 workers, also on more
      expect_dense(X.sharded(1, "dp").sharded(3, "tp"), p);
      expect_dense(X.sharded(3, "tp").sharded(3, "dp"), p);
    }
  }
}

TEST(CausalAttention, TakesAxesOfOneWorkerOnAnyDim) {
  const Partition mesh = Partition::world().grid({{"dp", Partition::world().size()}, {"cp", 1}, {"tp", 1}});
  const Space X = Space(mesh, {3, B, T, H, D}).sharded(1, "dp").sharded(2, "cp").sharded(4, "tp");
  for (const double p : {0.0, kDropped}) expect_dense(X, p);
}

TEST(CausalAttention, OutsideTrainingDropsNothing) {
  const Model model(kDropped);
  const ContextScope scope({.training = false});
  const Vector qkv = distribute(Space(Partition::simulated(1), {3, B, T, H, D}), draws({3, B, T, H, D}, 1));

  EXPECT_TRUE(is_close(attention(qkv, {.causal = true, .dropout = &model.drop}).local(),
                       formula(qkv.local(), at::ones({1}, at::kDouble))));
}

TEST(CausalAttention, GoesRoundARingWhereTheSequenceIsSharded) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {3, B, T, H, D});
    for (const double p : {0.0, kDropped}) {
      expect_dense(X.sharded(2, "tp"), p);
      expect_dense(X.sharded(1, "dp").sharded(2, "tp", Split::zigzag(T, mesh.extent("tp"))), p);
      expect_dense(X.sharded(3, "tp").sharded(2, "dp"), p);
      expect_dense(X.copied("dp").sharded(2, "tp"), p);
    }
  }
}

/// In fp32 and with such widths the CPU has a kernel of its own. Its dropout is that of fp64, element by
/// element, wherever the elements lie.
TEST(CausalAttention, DropsInFloatsWhatItDropsInDoubles) {
  constexpr std::int64_t length = 37, width = 16;
  const Model model(kDropped);
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {3, B, length, H, width});
    const Split zigzag = Split::zigzag(length, mesh.extent("tp"));
    for (const Space& S : {X, X.sharded(1, "dp").sharded(3, "tp"), X.sharded(1, "dp").sharded(2, "tp"),
                           X.sharded(2, "tp", zigzag).sharded(3, "dp")}) {
      for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(5)}) {
        SCOPED_TRACE("in " + to_string(S) + (window ? ", through a window" : ""));
        const auto results = [&](at::ScalarType type) {
          const Chain chain;
          const Vector qkv = leaf(S, draws(X.shape(), 1).to(at::kFloat).to(type));
          const Vector y = attention(qkv, {.causal = true, .window = window, .dropout = &model.drop});
          const at::Tensor ybar = draws({B, length, H, width}, 2).to(at::kFloat).to(type);
          return std::vector{y.local(),
                             pullback(y, distribute(dual(y.space()), ybar), {qkv}).front().local()};
        };
        const std::vector<at::Tensor> floats = results(at::kFloat), doubles = results(at::kDouble);
        for (std::size_t i = 0; i < floats.size(); ++i) {
          const at::Tensor error = floats[i].to(at::kDouble).sub(doubles[i]).abs();
          EXPECT_LE(error.numel() > 0 ? error.max().item<double>() : 0, 1e-5);
        }
      }
    }
  }
}

TEST(CausalAttention, SaysWhatDoesNotFit) {
  const Space X(Partition::simulated(2), {3, B, T, H, D});
  const Dropout drop("attn_dropout", 0), dropping("attn_dropout", 0.5);
  const auto call = [&](const Space& S) {
    return attention(distribute(S, at::ones(S.shape())), {.causal = true, .dropout = &drop});
  };

  EXPECT_ERROR(call(X.sharded(4, "world")), "axis world shards the head width, dim 3 of (4, 5, 3, 2)",
               "between(X, Y)");
  EXPECT_ERROR(call(X.sharded(0, "world")), "axis world shards dim 0", "(3, 4, 5, 3, 2) on (world=2)",
               "between(X, Y)");
  EXPECT_ERROR(call(X.partial("world")), "attention", "Partial on axis world");
  EXPECT_ERROR(call(Space(Partition::simulated(2), {B, T, H, D})),
               "takes (3, B, T, heads, d), not (4, 5, 3, 2)");
  EXPECT_ERROR(attention(distribute(X, at::ones(X.shape())), {.dropout = &dropping}),
               "Dropout attn_dropout is called in no context");
}

/// An added mask of fp32 beside vectors of bf16, such as relative positions: in bf16 101 and 100.8 are one.
TEST(Attention, KeepsTheDigitsOfAnAddedMask) {
  for (const Partition& mesh : meshes()) {
    const Space Q(mesh, {B, T, H, D}), M(mesh, {T, T});
    const at::Tensor mask = draws({T, T}, 9).to(at::kFloat).add(100);
    const auto of = [&](const Space& X, std::uint64_t seed, const at::Tensor& m, at::ScalarType type) {
      const at::Tensor q = draws(X.shape(), seed).to(at::kBFloat16).to(type);
      return std::pair(leaf(X, q), attention(leaf(X, q), leaf(X, q), leaf(X, q), {.mask = distribute(M, m)}));
    };
    for (const Space& X : {Q, Q.sharded(0, "dp").sharded(2, "tp"), Q.sharded(1, "tp")}) {
      const Chain chain;
      const Vector y = of(X, 1, mask, at::kBFloat16).second;
      const Vector exact = of(X, 1, mask.to(at::kDouble), at::kDouble).second;
      EXPECT_EQ(y.local().scalar_type(), at::kBFloat16);
      const at::Tensor error = y.local().to(at::kDouble).sub(exact.local()).abs();
      EXPECT_LE(error.numel() > 0 ? error.max().item<double>() : 0, 0.02) << to_string(X);
    }
  }
}

TEST(Attention, SeesMasksThatDiffer) {
  if (Runtime::size() == 1) return;
  const Space Q = Space(Partition::world(), {1, 2, 12, D}).sharded(2, "world");
  const Vector q(Q, at::ones(Q.local_shape(), at::kDouble));
  const bool before = consistency_checks();
  set_consistency_checks(true);
  const at::Tensor mask = at::ones({2, 2}, at::kDouble).mul(Runtime::rank() + 1 == Runtime::size() ? 2 : 1);
  EXPECT_ERROR(attention(q, q, q, {.mask = Vector(Space(Partition::world(), {2, 2}), mask)}),
               "attention: the mask is Replicated on axis world");
  const at::Tensor seen = at::ones({1, 2}, at::kLong).mul(Runtime::rank() + 1 == Runtime::size() ? 2 : 1);
  EXPECT_ERROR(attention(q, q, q, {.seen = Vector(Space(Partition::world(), {1, 2}), seen)}),
               "attention: .seen is Replicated on axis world");
  set_consistency_checks(before);
}

}  // namespace
}  // namespace riesz::testing
