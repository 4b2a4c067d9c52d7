// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Attention with K and V going round a ring, against softmax on global tensors.
#include "riesz/nn/attention/ring_attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "expect.h"
#include "expect_attention.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 13, H = 3, D = 2;

Partition ring_of_all() { return Partition::world().grid({{"sp", Partition::world().size()}}); }

/// One to each other worker while there are, the rest to the last.
Split lopsided(std::int64_t n, int p) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  std::int64_t left = n;
  for (std::size_t worker = 0; worker + 1 < sizes.size() && left > 0; worker += 2, --left) sizes[worker] = 1;
  sizes.back() = left;
  return Split::sizes(sizes);
}

std::vector<Split> splits(std::int64_t n, int p) {
  return {Split::balanced(n, p), Split::zigzag(n, p), lopsided(n, p), Split::zigzag(n, p).rotated(1)};
}

TEST(RingAttention, IsSoftmaxOverAllPositionsForAnySplits) {
  const Partition mesh = ring_of_all();
  const int p = mesh.size();
  const Space Q(mesh, {B, T, H, D});
  for (const std::int64_t S : {T, std::int64_t{8}, std::int64_t{17}, std::int64_t{2}}) {
    const Space K(mesh, {B, S, H, D});
    for (std::size_t i = 0; i < 4; ++i) {
      const Space Qs = Q.sharded(1, "sp", splits(T, p)[i]);
      for (const bool causal : {false, true}) {
        expect_attention(Qs, K.sharded(1, "sp", splits(S, p)[i]), {.causal = causal});
        expect_attention(Qs, K.sharded(1, "sp", splits(S, p)[(i + 1) % 4]), {.causal = causal});
      }
    }
    expect_attention(Q.sharded(1, "sp"), K.sharded(1, "sp"), {.causal = true, .scale = 0.3});
  }
}

TEST(RingAttention, TakesMasksOfEveryShapeFromAnySpace) {
  const Partition mesh = ring_of_all();
  const Space Q = Space(mesh, {2, T, H, D}).sharded(1, "sp", Split::zigzag(T, mesh.size()));
  const Space K = Space(mesh, {2, 7, H, D}).sharded(1, "sp");
  for (const bool boolean : {false, true}) {
    for (const bool causal : {false, true}) {
      for (const auto& shape : std::vector<std::vector<std::int64_t>>{{T, 7}, {2, T, 7}, {2, H, T, 7}}) {
        const Space M(mesh, shape);
        for (const Space& X : {M, M.sharded(0, "sp"), M.sharded(M.dims() - 1, "sp"), M.copied("sp")}) {
          expect_attention(Q, K, {.causal = causal, .mask = X, .boolean = boolean});
        }
      }
    }
  }
}

TEST(RingAttention, DropsByGlobalIndex) {
  const Partition mesh = ring_of_all();
  const int p = mesh.size();
  const Space X(mesh, {B, T, H, D});
  for (const Split& split : splits(T, p)) {
    for (const bool causal : {false, true}) {
      expect_attention(X.sharded(1, "sp", split), X.sharded(1, "sp", split),
                       {.causal = causal, .dropped = 0.4});
    }
  }
  const Space M(mesh, {T, T});
  expect_attention(X.sharded(1, "sp"), X.sharded(1, "sp"), {.causal = true, .dropped = 0.4, .mask = M});
}

TEST(RingAttention, GoesBackWithTheMaskOfTheStepOfItsForward) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  const Vector ybar = distribute(dual(X), draws(X.shape(), 4));
  std::vector<Vector> gradients;
  for (const std::int64_t later : {3, 4}) {
    const Vector x = leaf(X, draws(X.shape(), 1));
    DropoutModel model(0.4);
    Chain chain;
    const Vector y = attention(x, x, x, {.dropout = &model.drop});
    const ContextScope other({.training = true, .seed = 7, .step = later});
    gradients.push_back(pullback(y, ybar, {x}).front());
  }
  EXPECT_SAME_BITS(gradients[0].local(), gradients[1].local());
}

/// Of a type, against the formula of the same numbers in fp64: one rounding of what is given.
void expect_close_in(at::ScalarType type, double p) {
  SCOPED_TRACE(std::string(at::toString(type)) + ", dropping " + std::to_string(p));
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  std::vector<at::Tensor> global;
  std::vector<Vector> inputs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const at::Tensor drawn = draws(X.shape(), seed).to(type);
    global.push_back(drawn.to(at::kDouble).requires_grad_());
    inputs.push_back(leaf(X, drawn));
  }
  const at::Tensor ybar = draws(X.shape(), 4).to(type);
  const DropoutModel model(p);

  Chain chain;
  const Vector y = attention(inputs[0], inputs[1], inputs[2], {.causal = true, .dropout = &model.drop});
  const std::vector<Vector> bar = pullback(y, distribute(dual(X), ybar), inputs);

  const at::Tensor later = at::ones({T, T}, at::kDouble).triu(1).gt(0);
  const at::Tensor expected =
      attention_formula(global[0], global[1], global[2], 1 / std::sqrt(2.0), at::zeros({1}, at::kDouble),
                        later, dropped_of({B, H, T, T}, p));
  expected.backward(ybar.to(at::kDouble));
  const double tolerance = type == at::kFloat ? 4e-6 : 1.0 / 256;
  const auto in_double = [](const Vector& x) { return Vector(x.space(), x.local().to(at::kDouble)); };
  EXPECT_EQ(y.local().scalar_type(), type);
  EXPECT_TRUE(means(in_double(y), expected, tolerance));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bar[i].local().scalar_type(), type);
    EXPECT_TRUE(means(in_double(bar[i]), global[i].grad(), tolerance));
  }
}

/// Neither scores, masks nor others' K and V live on after backward, while the result does.
TEST(RingAttention, HoldsNothingButItsResultAfterBackward) {
  const Space X = Space(ring_of_all(), {2, 64, 2, 4}).zigzag(1, "sp");
  const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2)),
               v = leaf(X, draws(X.shape(), 3));
  const Vector ybar = distribute(dual(X), draws(X.shape(), 4));
  const DropoutModel model(0.3);
  const MemoryMeter meter;
  Chain chain;
  const Vector y = attention(q, k, v, {.causal = true, .dropout = &model.drop});
  pullback(y, ybar, {q, k, v});
  EXPECT_EQ(MemoryMeter::alive(), 8 * y.local().numel());
}

TEST(RingAttention, JoinsHalfTypesInSinglePrecision) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    if (Partition::world().size() > 1) expect_close_in(type, 0);  // torch's own on one worker
    expect_close_in(type, 0.4);
  }
}

TEST(RingAttention, TakesLargeScores) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  expect_attention(X, X, {.causal = true, .scale = 1000, .tolerance = 1e-10});
  expect_attention(X, X, {.scale = -1000, .tolerance = 1e-10});
}

TEST(RingAttention, TakesQueriesAndKeysTurnedByTheirPositions) {
  const Partition mesh = ring_of_all();
  const Space alone(Partition::simulated(1), {B, T, H, D});
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp", Split::zigzag(T, mesh.size()));
  std::vector<at::Tensor> global;
  std::vector<Vector> inputs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    global.push_back(draws(X.shape(), seed).requires_grad_());
    inputs.push_back(leaf(X, global.back()));
  }
  const at::Tensor ybar = draws(X.shape(), 4);

  Chain chain;
  const Vector y = attention(rotary(inputs[0]), rotary(inputs[1]), inputs[2], {.causal = true});
  const std::vector<Vector> bar = pullback(y, distribute(dual(X), ybar), inputs);

  const auto turned = [&](const at::Tensor& x) { return rotary(Vector(alone, x)).local(); };
  const at::Tensor expected = attention_formula(
      turned(global[0]), turned(global[1]), global[2], 1 / std::sqrt(2.0), at::zeros({1}, at::kDouble),
      at::ones({T, T}, at::kDouble).triu(1).gt(0), at::ones({1}, at::kDouble));
  expected.backward(ybar);
  EXPECT_TRUE(means(y, expected));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(means(bar[i], global[i].grad())) << "by operand " << i;
}

TEST(RingAttention, GoesBackOnAWorkerThatNeedsNoGradientThatOthersNeed) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  const at::Tensor ybar = draws(X.shape(), 4);
  const auto gradients = [&](bool all, int which) {
    std::vector<Vector> inputs;
    for (int i = 0; i < 3; ++i) {
      inputs.push_back(leaf(X, draws(X.shape(), static_cast<std::uint64_t>(i + 1))));
      inputs.back().local().requires_grad_(all || (mesh.rank() == 0 && i == which));
    }
    Chain chain;
    const Vector y = attention(inputs[0], inputs[1], inputs[2], {.causal = true});
    const bool asks = all || mesh.rank() == 0;
    return pullback(
        y, distribute(dual(X), ybar),
        asks ? std::vector<Vector>{inputs[static_cast<std::size_t>(which)]} : std::vector<Vector>{});
  };

  for (const int which : {0, 1, 2}) {
    const std::vector<Vector> expected = gradients(true, which);
    for (const Vector& g : gradients(false, which)) EXPECT_SAME_BITS(g.local(), expected.front().local());
  }
}

TEST(RingAttention, GoesBackOnAWorkerThatIgnoresTheResult) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  const Vector q = leaf(X, draws(X.shape(), 1)), k = leaf(X, draws(X.shape(), 2)),
               v = leaf(X, draws(X.shape(), 3));
  const Space whole(mesh, {});
  const Space terms = whole.partial("sp");

  Chain chain;
  const Vector y = attention(q, k, v);
  const at::Tensor mine = mesh.rank() == 0 ? y.local().sum() : at::zeros({}, at::kDouble);
  backward(between(terms, whole)(Vector(terms, mine)));

  at::Tensor ybar = at::zeros(X.shape(), at::kDouble);
  ybar.narrow(1, 0, X.box(0)[1].size()).fill_(1);
  Chain again;
  const Vector q2 = leaf(X, draws(X.shape(), 1));
  const std::vector<Vector> expected = pullback(attention(q2, k, v), distribute(dual(X), ybar), {q2});
  EXPECT_TRUE(is_close(gradient(q).local(), expected.front().local()));
}

TEST(RingAttention, RecordsNothingWithoutGradientAndNeedsAChainWithIt) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  const Vector x = leaf(X, draws(X.shape(), 1));
  if (mesh.size() > 1) {
    EXPECT_ERROR(attention(x, x, x), "Shift over sp", "outside a chain");
  }
  const at::NoGradGuard guard;
  EXPECT_FALSE(attention(x, x, x).local().requires_grad());
}

TEST(RingAttention, HasNoSecondDerivatives) {
  const Partition mesh = ring_of_all();
  const Space X = Space(mesh, {B, T, H, D}).sharded(1, "sp");
  const Vector x = leaf(X, draws(X.shape(), 1));
  const Vector ybar = distribute(dual(X), draws(X.shape(), 2));

  Chain chain;
  const Vector y = attention(x, x, x);
  if (mesh.size() > 1) {
    EXPECT_ERROR(pullback(y, ybar, {x}, true), "ring attention has no second derivatives",
                 "gather K and V instead", "between(X, Y)");
  } else {
    pullback(y, ybar, {x}, true);
  }
}

}  // namespace
}  // namespace riesz::testing
