// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Contractions that compute in a type of their own: fp32 parameters beside products in bf16, as torch's
// autocast has them, and what moves and lives is of the type that is said.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "expect.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

constexpr ContractionOptions kBFloat16{.compute_type = at::kBFloat16};

struct Lay {
  std::string name;
  Space X, W, Y;
};

std::vector<Lay> lays(std::int64_t b = 10, std::int64_t i = 6, std::int64_t o = 14) {
  const Partition P = Partition::world();
  const Space X(P, {b, i}), W(P, {o, i}), Y(P, {b, o});
  return {{"column", X, W.sharded(0, "world"), Y.sharded(1, "world")},
          {"row", X.sharded(1, "world"), W.sharded(1, "world"), Y},
          {"data parallel", X.sharded(0, "world"), W, Y.sharded(0, "world")},
          {"FSDP", X.sharded(0, "world"), W.sharded(1, "world"), Y.sharded(0, "world")},
          {"sequence parallel up", X.sharded(0, "world"), W.sharded(0, "world"), Y.sharded(1, "world")},
          {"sequence parallel down", X.sharded(1, "world"), W.sharded(1, "world"), Y.sharded(0, "world")}};
}

at::Tensor as(at::ScalarType type, const Space& S, std::uint64_t seed) {
  return draws(S.shape(), seed).to(type);
}

/// y, x̄ and w̄ by plain torch: bf16 products of what is cast.
struct Plain {
  at::Tensor y, xbar, wbar;
};

Plain plain(const at::Tensor& x_given, const at::Tensor& w_given, const at::Tensor& ybar) {
  const at::Tensor x = x_given.detach().clone().requires_grad_(),
                   w = w_given.detach().clone().requires_grad_();
  const at::Tensor y = at::matmul(x.to(at::kBFloat16), w.to(at::kBFloat16).t());
  y.backward(ybar);
  return {y.detach(), x.grad(), w.grad()};
}

/// Each worker rounds its product to bf16, and a sum over workers may be rounded once more: of sums of these
/// terms.
at::Tensor bound(const at::Tensor& a, const at::Tensor& b) {
  const double u = unit_roundoff(at::kBFloat16);
  return at::matmul(a.to(at::kBFloat16).to(at::kDouble).abs(), b.to(at::kBFloat16).to(at::kDouble).abs())
      .mul(4 * u);
}

TEST(ComputeType, OfBFloat16BesideFloatParametersIsTorchsAutocast) {
  for (const auto& [x_type, w_type] :
       {std::pair{at::kFloat, at::kFloat}, std::pair{at::kBFloat16, at::kFloat}}) {
    for (const Lay& lay : lays()) {
      for (const int rounds : {1, 2}) {
        SCOPED_TRACE(lay.name + " of x in " + at::toString(x_type));
        const at::Tensor a = as(x_type, lay.X, 1), b = as(w_type, lay.W, 2), c = as(at::kBFloat16, lay.Y, 3);
        const Vector x = leaf(lay.X, a), w = leaf(lay.W, b);
        ContractionOptions options = kBFloat16;
        options.rounds = rounds;
        Chain chain;
        const Vector y = contract("bi,oi->bo", x, w, lay.Y, options);
        const std::vector<Vector> gradients = pullback(y, distribute(dual(lay.Y), c), {x, w});

        const Plain expected = plain(a, b, c);
        EXPECT_EQ(y.local().scalar_type(), at::kBFloat16);
        EXPECT_EQ(gradients[0].local().scalar_type(), x_type);
        EXPECT_EQ(gradients[1].local().scalar_type(), w_type);
        EXPECT_TRUE(is_within(meant({y.space(), y.local().to(at::kDouble)}), expected.y, bound(a, b.t())));
        EXPECT_TRUE(is_within(meant({gradients[0].space(), gradients[0].local().to(at::kDouble)}),
                              expected.xbar, bound(c, b)));
        EXPECT_TRUE(is_within(meant({gradients[1].space(), gradients[1].local().to(at::kDouble)}),
                              expected.wbar, bound(c.t(), a)));
      }
    }
  }
}

/// What torch computes from pieces of integers, exactly: these are plain torch's bits.
TEST(ComputeType, OfWholeNumbersHasTorchsBitsAtEveryLayout) {
  for (const Lay& lay : lays()) {
    SCOPED_TRACE(lay.name);
    const at::Tensor a = draws(lay.X.shape(), 1).round().to(at::kFloat),
                     b = draws(lay.W.shape(), 2).round().to(at::kFloat);
    const at::Tensor c = draws(lay.Y.shape(), 3).round().to(at::kBFloat16);
    const Vector x = leaf(lay.X, a), w = leaf(lay.W, b);
    Chain chain;
    const Vector y = contract("bi,oi->bo", x, w, lay.Y, kBFloat16);
    const std::vector<Vector> gradients = pullback(y, distribute(dual(lay.Y), c), {x, w});
    const Plain expected = plain(a, b, c);
    EXPECT_TRUE(meant(y).equal(expected.y));
    EXPECT_TRUE(meant(gradients[0]).equal(expected.xbar));
    EXPECT_TRUE(meant(gradients[1]).equal(expected.wbar));
  }
}

/// 256 + 1 is 256 in bf16: the weight's gradient is added up in fp32, that of x in bf16.
TEST(ComputeType, TheWeightsGradientIsSummedInItsOwnType) {
  const Partition P = Partition::world();
  const std::int64_t p = P.size();
  const Space X = Space(P, {p, 1}).sharded(0, "world"), W(P, {1, 1}), Y = X;
  const auto ones = [&](const Space& S) { return at::full(S.shape(), 1.0, at::kFloat); };
  at::Tensor ybar = ones(Y).to(at::kBFloat16);
  ybar[0][0] = 256;
  const Vector x = leaf(X, ones(X)), w = leaf(W, ones(W));
  for (const bool later : {false, true}) {
    DeferredGradients put_off;
    Chain chain;
    ContractionOptions options = kBFloat16;
    options.w_is_parameter = later;
    const Vector y = contract("bi,oi->bo", x, w, Y, options);
    const Vector loss = contract("bo,bo->", distribute(Y, ybar), y, Space(P, {}));
    backward(loss);
    put_off.compute();
    EXPECT_EQ(gradient(w).local().scalar_type(), at::kFloat);
    EXPECT_TRUE(means(gradient(w), at::full({1, 1}, 255.0 + static_cast<double>(p)), 0));
    w.local().mutable_grad().reset();
  }
}

/// Panels of one row: each adds 1 to a sum that bf16 would leave at 256.
TEST(ComputeType, PanelsAreAddedUpAsOneProductIs) {
  const Partition P = Partition::world();
  const std::int64_t p = P.size(), n = 257;
  const auto ones = [](const Space& S) { return at::full(S.shape(), 1.0, at::kFloat); };
  const auto first_256 = [&](const Space& S) {
    at::Tensor x = ones(S);
    x[0][0] = 256;
    return x;
  };
  const auto results = [&](const Space& X, const Space& W, const Space& Y, const at::Tensor& of_x) {
    const Vector x = leaf(X, of_x), w = leaf(W, ones(W));
    ContractionOptions options = kBFloat16;
    options.rounds = static_cast<int>(n);
    Chain chain;
    const Vector y = contract("bi,oi->bo", x, w, Y, options);
    const at::Tensor ybar = first_256(Y).to(at::kBFloat16);
    std::vector<at::Tensor> all{meant(y)};
    for (const Vector& g : pullback(y, distribute(dual(Y), ybar), {x, w})) all.push_back(meant(g));
    return all;
  };
  {
    SCOPED_TRACE("rows of x come in panels, the weight's gradient is summed over them");
    const Space X = Space(P, {n, 1}).sharded(0, "world"), W = Space(P, {p, 1}).sharded(0, "world"),
                Y = Space(P, {n, p}).sharded(1, "world");
    const at::Tensor wbar = results(X, W, Y, ones(X))[2];
    EXPECT_EQ(wbar[0][0].item<float>(), 256.0F + 256.0F);
  }
  {
    SCOPED_TRACE("columns of x and w come in panels, y is summed over them");
    const Space X = Space(P, {p, n}).sharded(0, "world"), W = Space(P, {1, n}).sharded(1, "world"),
                Y = Space(P, {p, 1}).sharded(0, "world");
    const at::Tensor y = results(X, W, Y, first_256(X))[0];
    EXPECT_EQ(y[0][0].item<float>(), 256.0F + 256.0F);
  }
}

TEST(ComputeType, MovesTwoBytesAnElementAndTheWeightsSumFour) {
  const Partition P = Partition::world();
  const std::int64_t p = P.size();
  const Space X = Space(P, {3 * p, 4}).sharded(0, "world"), W = Space(P, {2 * p, 4}).sharded(0, "world");
  const Space up = Space(P, {3 * p, 2 * p}).sharded(1, "world"),
              rows = Space(P, {3 * p, 2 * p}).sharded(0, "world");
  const auto bytes = [&](const Space& Y) {
    const Vector x = leaf(X, as(at::kFloat, X, 1)), w = leaf(W, as(at::kFloat, W, 2));
    Chain chain;
    const Traffic start = Counters::instance().total();
    const Vector y = contract("bi,oi->bo", x, w, Y, kBFloat16);
    const Traffic middle = Counters::instance().total();
    pullback(y, distribute(dual(Y), as(at::kBFloat16, Y, 3)), {x, w});
    return std::pair{(middle - start).bytes, (Counters::instance().total() - middle).bytes};
  };
  const std::int64_t of_x = (p - 1) * 3 * 4, of_w = (p - 1) * 2 * 4;
  EXPECT_EQ(bytes(up), (std::pair{2 * of_x, 2 * of_x + 2 * of_x}))
      << "x, x again, and the sum of its gradient";
  EXPECT_EQ(bytes(rows), (std::pair{2 * of_w, 2 * of_w + 4 * of_w}))
      << "w, w again, and the sum of its gradient";
}

TEST(ComputeType, TheResultMayBeWiderAndIsThenSummedSo) {
  const Partition P = Partition::world();
  const std::int64_t p = P.size();
  const Space X = Space(P, {1, p}).sharded(1, "world"), W = Space(P, {1, p}).sharded(1, "world"),
              Y(P, {1, 1});
  at::Tensor a = at::full({1, p}, 1.0, at::kFloat);
  a[0][0] = 256;
  const Vector x = leaf(X, a), w = leaf(W, at::full({1, p}, 1.0, at::kFloat));
  Chain chain;
  const Traffic start = Counters::instance().total();
  const Vector y = contract("bi,oi->bo", x, w, Y, {.compute_type = at::kBFloat16, .result_type = at::kFloat});
  const Traffic sent = Counters::instance().total() - start;
  EXPECT_EQ(y.local().scalar_type(), at::kFloat);
  EXPECT_EQ(y.local().item<float>(), 255.0F + static_cast<float>(p));
  EXPECT_EQ(sent.bytes, 4 * sent.elements);
  const std::vector<Vector> gradients = pullback(y, distribute(Y, at::full({1, 1}, 1.0, at::kFloat)), {x, w});
  EXPECT_EQ(gradients[0].local().scalar_type(), at::kFloat);
  EXPECT_TRUE(means(gradients[1], a, 0));
}

/// x̄ = Σ ȳ·w, of which the derivatives are those of a product again; integers, so exact.
TEST(ComputeType, GradientsAreDifferentiableAgain) {
  for (const Lay& lay : lays()) {
    SCOPED_TRACE(lay.name);
    const auto whole = [](const Space& S, std::uint64_t seed) { return draws(S.shape(), seed).round(); };
    const at::Tensor a = whole(lay.X, 1), b = whole(lay.W, 2), c = whole(lay.Y, 3), u = whole(lay.X, 4);
    const Vector x = leaf(lay.X, a.to(at::kFloat)), w = leaf(lay.W, b.to(at::kFloat));
    const Vector ybar = leaf(dual(lay.Y), c.to(at::kBFloat16));
    Chain chain;
    const Vector y = contract("bi,oi->bo", x, w, lay.Y, kBFloat16);
    const Vector xbar = pullback(y, ybar, {x}, true).front();
    const std::vector<Vector> second =
        pullback(xbar, distribute(dual(xbar.space()), u.to(at::kFloat)), {w, ybar});
    EXPECT_EQ(second[0].local().scalar_type(), at::kFloat);
    EXPECT_TRUE(meant(second[0]).equal(at::matmul(c.t(), u).to(at::kFloat)));
    EXPECT_TRUE(meant(second[1]).equal(at::matmul(u, b.t()).to(at::kBFloat16)));
  }
}

TEST(ComputeType, OneCastOfXIsKeptForAllThatReadIt) {
  const Partition P = Partition::world();
  const Space X = Space(P, {4 * P.size(), 6}).sharded(0, "world"), W(P, {1, 6}),
              Y = Space(P, {4 * P.size(), 1}).sharded(0, "world");
  const Vector x = leaf(X, as(at::kFloat, X, 1)), w = leaf(W, as(at::kFloat, W, 2));
  Chain chain;
  std::vector<Vector> ys;
  const MemoryMeter meter;
  for (int i = 0; i < 3; ++i) ys.push_back(contract("bi,oi->bo", x, w, Y, kBFloat16));
  EXPECT_EQ(MemoryMeter::alive(), 2 * 4 * 6 + 3 * 2 * 4) << "x in bf16, and three results; w as it is";
}

/// The cast is not that of an x that was written to, or did not require a gradient yet.
TEST(ComputeType, AnXThatChangedIsCastAgain) {
  const Partition P = Partition::world();
  const Space X = Space(P, {4 * P.size(), 6}).sharded(0, "world"), W(P, {1, 6}),
              Y = Space(P, {4 * P.size(), 1}).sharded(0, "world");
  const Vector x = distribute(X, as(at::kFloat, X, 1)), w = leaf(W, as(at::kFloat, W, 2));
  Chain chain;
  const at::Tensor before = contract("bi,oi->bo", x, w, Y, kBFloat16).local().detach();
  x.local().mul_(2);
  EXPECT_TRUE(contract("bi,oi->bo", x, w, Y, kBFloat16).local().equal(before.mul(2)));
  x.local().requires_grad_();
  const Vector y = contract("bi,oi->bo", x, w, Y, kBFloat16);
  const Vector xbar = pullback(y, distribute(dual(Y), at::ones(Y.shape(), at::kBFloat16)), {x}).front();
  const at::Tensor row = w.local().detach().to(at::kBFloat16).to(at::kFloat);
  EXPECT_TRUE(xbar.local().equal(row.expand_as(x.local())));
}

TEST(ComputeType, OthersAreNotSharedAndNoneAtAllChangesNothing) {
  const Partition P = Partition::world();
  const std::int64_t p = P.size();
  const Space X = Space(P, {p, 4}).sharded(0, "world"), W = Space(P, {p, 4}).sharded(0, "world");
  const Space Y = Space(P, {p, p}).sharded(1, "world");
  const Vector x = leaf(X, as(at::kFloat, X, 1)), w = leaf(W, as(at::kFloat, W, 2));
  Chain chain;
  const auto bytes = [&](const ContractionOptions& options) {
    const Traffic before = Counters::instance().total();
    contract("bi,oi->bo", x, w, Y, options);
    return (Counters::instance().total() - before).bytes;
  };
  EXPECT_EQ(bytes(kBFloat16), 2 * 4 * (p - 1));
  EXPECT_EQ(bytes({}), 4 * 4 * (p - 1));
  EXPECT_EQ(bytes({.compute_type = at::kDouble}), 8 * 4 * (p - 1));
  EXPECT_EQ(bytes(kBFloat16) + bytes({}) + bytes({.compute_type = at::kFloat}), 0) << "all there";
  EXPECT_ERROR(contract("bi,oi->bo", x, w, Y, {.result_type = at::kFloat}),
               "a result type without a compute type");
  const at::NoGradGuard no_gradient;
  for (const at::ScalarType type : {at::kLong, at::kComplexFloat}) {
    EXPECT_ERROR(contract("bi,oi->bo", distribute(X, at::ones(X.shape(), type)), w, Y, kBFloat16),
                 "a compute type is for real operands", at::toString(type));
  }
}

}  // namespace
}  // namespace riesz::testing
