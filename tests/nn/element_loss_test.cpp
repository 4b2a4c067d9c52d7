// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/binary_cross_entropy.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/full.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/poisson_nll_loss.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/vectors/extremes.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Global = std::function<at::Tensor(const at::Tensor&)>;

/// A loss, torch's own mean, and what makes normal draws into its operands.
struct Case {
  std::string name;
  std::function<Loss(const Vector&, const Vector&)> layer;
  std::function<at::Tensor(const at::Tensor&, const at::Tensor&)> torch;
  Global operand = [](const at::Tensor& x) { return x; };
  Global target = [](const at::Tensor& y) { return y; };
};

std::vector<Case> cases() {
  const auto mean = at::Reduction::Mean;
  const Global probabilities = [](const at::Tensor& x) { return x.sigmoid(); };
  const Global positive = [](const at::Tensor& x) { return x.abs().add(0.1); };
  std::vector<Case> all{
      {"l1_loss", l1_loss, [=](const auto& x, const auto& y) { return at::l1_loss(x, y, mean); }},
      {"mse_loss", mse_loss, [=](const auto& x, const auto& y) { return at::mse_loss(x, y, mean); }},
      {"bce_loss", bce_loss,
       [=](const auto& x, const auto& y) { return at::binary_cross_entropy(x, y, {}, mean); }, probabilities,
       probabilities},
      {"bce_with_logits_loss", bce_with_logits_loss,
       [=](const auto& x, const auto& y) { return at::binary_cross_entropy_with_logits(x, y, {}, {}, mean); },
       [](const at::Tensor& x) { return x.mul(30); }, probabilities}};
  for (const bool log_target : {false, true}) {
    all.push_back({"kl_div_loss", [=](const auto& x, const auto& y) { return kl_div_loss(x, y, log_target); },
                   [=](const auto& x, const auto& y) { return at::kl_div(x, y, mean, log_target); },
                   [](const at::Tensor& x) { return x.sigmoid().log(); },
                   [=](const at::Tensor& y) { return log_target ? y.sigmoid().log() : y.sigmoid(); }});
    for (const bool full : {false, true}) {
      const PoissonNllOptions options{log_target, full, 1e-2};
      all.push_back(
          {"poisson_nll_loss", [=](const auto& x, const auto& y) { return poisson_nll_loss(x, y, options); },
           [=](const auto& x, const auto& y) {
             return at::poisson_nll_loss(x, y, options.log_input, options.full, options.epsilon, mean);
           },
           log_target ? Global([](const at::Tensor& x) { return x; }) : positive,
           [=](const at::Tensor& y) { return y.abs().mul(3).add(0.1); }});
    }
  }
  return all;
}

void expect_torch(const Case& loss_case, const Space& X) {
  SCOPED_TRACE(loss_case.name + " in " + to_string(X));
  const at::Tensor x_global = loss_case.operand(draws(X.shape(), 1)).requires_grad_();
  const at::Tensor y_global = loss_case.target(draws(X.shape(), 2)).requires_grad_();
  const at::Tensor expected = loss_case.torch(x_global, y_global);
  expected.backward();
  const Vector x = leaf(X, x_global.detach()), y = leaf(X, y_global.detach());

  Chain chain;
  const Loss loss = loss_case.layer(x, y);
  const Vector mean = loss.mean();
  backward(mean);

  EXPECT_EQ(loss.count, X.numel());
  EXPECT_EQ(loss.sum.space(), Space(X.partition(), {}));
  EXPECT_TRUE(means(mean, expected));
  EXPECT_TRUE(means(gradient(x), x_global.grad()));
  EXPECT_TRUE(means(gradient(y), y_global.grad()));
}

TEST(ElementLoss, IsTorchsAtEveryLayout) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {5, 3, 7});
    for (const Case& loss : cases()) {
      for (const Space& S : {X, X.sharded(0, "dp"), X.sharded(0, "dp").sharded(2, "tp"),
                             X.sharded(1, "tp").sharded(1, "dp")}) {
        expect_torch(loss, S);
      }
      expect_torch(loss, Space(mesh, {}));
    }
  }
}

TEST(ElementLoss, IsTorchsWhereverTheVectorsLie) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    Space X = random.shape(random.grid(some_workers(random)));
    if (X.numel() == 0) X = X.with_shape(std::vector<std::int64_t>(static_cast<std::size_t>(X.dims()), 2));
    const Space placed = random.place(X, {Placement::Replicated});
    for (const Case& loss : cases()) expect_torch(loss, placed);
  }
}

TEST(ElementLoss, OfPiecesOfSeveralIntervalsAndOfNothing) {
  const Partition P = Partition::world();
  for (const Case& loss : cases()) {
    expect_torch(loss, Space(P, {13}).sharded(0, "world", Split::zigzag(13, P.size())));
    const Vector none = distribute(Space(P, {4, 0}).sharded(0, "world"), at::ones({4, 0}, at::kDouble));

    const Chain chain;
    const Loss nothing = loss.layer(none, none);

    EXPECT_EQ(nothing.count, 0) << loss.name;
    EXPECT_EQ(nothing.sum.local().item<double>(), 0) << loss.name;
  }
}

TEST(ElementLoss, OfHalfTypesIsTakenInFloat) {
  const Space X = Space(Partition::world(), {50}).sharded(0, "world");
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    for (const Case& loss : cases()) {
      const at::Tensor x = loss.operand(draws({50}, 1)).to(type), y = loss.target(draws({50}, 2)).to(type);

      Chain chain;
      const Vector leaf_x = leaf(X, x);
      const Loss half = loss.layer(leaf_x, distribute(X, y));
      backward(half.sum);

      EXPECT_EQ(half.sum.local().scalar_type(), at::kFloat) << loss.name;
      const at::Tensor expected = loss.torch(x.to(at::kDouble), y.to(at::kDouble)).mul(50);
      EXPECT_TRUE(means(half.sum, expected.to(at::kFloat), 1e-5)) << loss.name;
      EXPECT_EQ(leaf_x.local().grad().scalar_type(), type);
    }
  }
}

TEST(ElementLoss, TakesTargetsOfAnotherType) {
  const Space X = Space(Partition::world(), {20}).sharded(0, "world");
  const at::Tensor x = draws({20}, 1), y = draws({20}, 2).gt(0);

  const at::NoGradGuard guard;
  const Loss loss = bce_with_logits_loss(distribute(X, x), distribute(X, y));

  EXPECT_TRUE(means(loss.sum,
                    at::binary_cross_entropy_with_logits(x, y.to(at::kDouble), {}, {}, at::Reduction::Sum)));
}

TEST(ElementLoss, AddsOneNumberAndMovesNothingBackward) {
  const Partition P = Partition::world();
  const Space X = Space(P, {5, 3}).sharded(0, "world"), one(P, {});
  const Vector x = leaf(X, draws({5, 3}, 1)), y = leaf(X, draws({5, 3}, 2));
  Counters::instance().reset();

  Chain chain;
  backward(mse_loss(x, y).sum);

  EXPECT_EQ(Counters::instance().total().elements,
            between(one.partial("world"), one).traffic(P.rank()).elements);
}

TEST(BceLoss, NamesOnEveryWorkerTheProbabilityThatOneHolds) {
  for (const Partition& mesh : meshes()) {
    for (const double bad : {1.5, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
      at::Tensor p = at::full({5, 3}, 0.5, at::kDouble);
      p[4][2] = bad;
      const Space X = Space(mesh, {5, 3}).sharded(0, "dp").sharded(1, "tp");
      const Chain chain;

      EXPECT_ERROR(bce_loss(distribute(X, p), distribute(X, p)), "bce_loss: the probability",
                   std::isnan(bad) ? "nan is not between 0 and 1" : concat(bad, " is not between 0 and 1"),
                   "bce_with_logits_loss");
    }
  }
}

TEST(Extremes, AreThoseOfTheVectorMeant) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const Space X = random.place(Space(grid, {5, 4}), {Placement::Replicated, Placement::Copied});
    if (!grid.active()) continue;
    const at::Tensor global = draws({5, 4}, static_cast<std::uint64_t>(i));

    const auto [least, greatest] = detail::extremes(distribute(X, global));

    EXPECT_EQ(least, global.min().item<double>()) << to_string(X);
    EXPECT_EQ(greatest, global.max().item<double>()) << to_string(X);
  }
}

TEST(ElementLoss, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space X(P, {4});
  const auto ones = [](const Space& S) { return distribute(S, at::ones(S.shape())); };
  const Split halo = Split::covering(4, {{{0, 3}}, {{2, 4}}});
  for (const Case& loss : cases()) {
    EXPECT_ERROR(loss.layer(ones(X), ones(X.sharded(0, "world"))), loss.name + " needs prediction and target",
                 "world replicated", "dim 0 over world", "between(X, Y)");
    EXPECT_ERROR(loss.layer(ones(X), ones(Space(P, {5}))), loss.name, "(4) on", "(5) on");
    EXPECT_ERROR(loss.layer(ones(X.partial("world")), ones(X.partial("world"))), loss.name,
                 "Partial on axis world");
    EXPECT_ERROR(loss.layer(ones(X.copied("world")), ones(X.copied("world"))), loss.name,
                 "Copied on axis world", "each copy would add its own loss");
    const Vector overlapping = ones(X.sharded(0, "world", halo));
    EXPECT_ERROR(loss.layer(overlapping, overlapping), loss.name, "the splits of dim 0 overlap");
  }
}

}  // namespace
}  // namespace riesz::testing
