// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/dropout.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <vector>

#include "expect.h"
#include "riesz/comm/error.h"
#include "riesz/nn/random/philox.h"
#include "riesz/nn/random/random.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

const std::vector<std::int64_t> kShape{5, 3, 7};

Vector ones(const Space& X, at::ScalarType type = at::kDouble) { return leaf(X, at::ones(X.shape(), type)); }

TEST(Dropout, MasksByGlobalIndexAtEveryLayout) {
  Dropout drop("resid_dropout", 0.3);
  drop.initialise(7, at::kDouble);
  drop.set_step(2);
  const at::Tensor mask = dropout_mask(Space(Partition::simulated(1), kShape), philox_key(7, "resid_dropout"),
                                       2, 0.3, at::kDouble);
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, kShape);
    for (const Space& S : {X, X.sharded(0, "dp"), X.sharded(0, "dp").sharded(2, "tp"),
                           X.sharded(1, "tp").sharded(1, "dp"), X.copied("tp").sharded(2, "dp")}) {
      const Vector x = ones(S);

      Chain chain;
      const Vector y = drop(x);
      const Vector gradient = pullback(y, distribute(dual(S), at::ones(kShape, at::kDouble)), {x}).front();

      EXPECT_TRUE(means(y, mask, 0)) << to_string(S);
      EXPECT_TRUE(means(gradient, mask, 0)) << to_string(S);
    }
  }
}

TEST(Dropout, OfAnyTypeMasksByGlobalIndexWhereverTheVectorLies) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    Dropout drop("drop", 0.1 * (1 + random.any_of(9)));
    drop.initialise(7, at::kDouble);
    drop.set_step(i);
    const Space X = random.shape(random.grid(some_workers(random)));
    const Space placed = random.lay_out(X, {Placement::Replicated, Placement::Copied}, false);
    const at::Tensor x_global = draws(X.shape(), 1), ybar = draws(X.shape(), 2);
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
      SCOPED_TRACE(concat("in ", to_string(placed), " of ", type));
      const at::Tensor mask = drop(ones(Space(Partition::simulated(1), X.shape()), type)).local().detach();
      const Vector x = leaf(placed, x_global.to(type));

      Chain chain;
      const Vector y = drop(x);
      const Vector gradient = pullback(y, distribute(dual(placed), ybar.to(type)), {x}).front();

      EXPECT_EQ(y.local().scalar_type(), type);
      EXPECT_TRUE(means(y, x_global.to(type).mul(mask), 0));
      EXPECT_TRUE(means(gradient, ybar.to(type).mul(mask), 0));
    }
  }
}

TEST(Dropout, OfHalfTypesDropsTheSameElements) {
  const Space X(Partition::simulated(1), {1000});
  Dropout drop("drop", 0.3);
  drop.initialise(7, at::kDouble);
  const at::Tensor kept = drop(ones(X)).local().ne(0);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor y = drop(ones(X, type)).local();

    EXPECT_TRUE(at::equal(y.ne(0), kept)) << type;
    EXPECT_TRUE(at::equal(y, kept.to(type).div(0.7)))
        << type << ": what is kept is one rounding of 1/(1 − p)";
  }
}

TEST(Dropout, ChangesWithStepSeedAndName) {
  const Space X(Partition::simulated(1), {200});
  const auto kept = [&](const char* name, std::uint64_t seed, std::int64_t step) {
    Dropout drop(name, 0.5);
    drop.initialise(seed, at::kDouble);
    drop.set_step(step);
    return drop(ones(X)).local();
  };

  EXPECT_TRUE(at::equal(kept("a", 1, 1), kept("a", 1, 1)));
  EXPECT_FALSE(at::equal(kept("a", 1, 1), kept("a", 1, 2)));
  EXPECT_FALSE(at::equal(kept("a", 1, 1), kept("a", 2, 1)));
  EXPECT_FALSE(at::equal(kept("a", 1, 1), kept("b", 1, 1)));
}

TEST(Dropout, IsTheIdentityOutsideTrainingAndAtZero) {
  const Vector x = ones(Space(Partition::simulated(1), {20}));
  Dropout drop("drop", 0.5), none("drop", 0);
  drop.initialise(7, at::kDouble);
  drop.set_training(false);
  none.initialise(7, at::kDouble);

  EXPECT_FALSE(drop.active());
  EXPECT_TRUE(drop(x).local().is_same(x.local()));
  EXPECT_TRUE(none(x).local().is_same(x.local()));
}

/// Its owner forgets to adopt one of its two.
class Forgetful : public Module {
 public:
  Forgetful() : Module("h.0"), adopted("known", 0.5), forgotten("drop", 0.5), never("never", 0) {
    adopt(adopted);
  }
  std::string describe() const override { return "Forgetful"; }

  Dropout adopted, forgotten, never;
};

TEST(Dropout, ThatNoModelHasAdoptedSaysSoAtItsFirstUse) {
  const Vector x = ones(Space(Partition::simulated(1), {20}));
  Forgetful model;
  EXPECT_ERROR(model.adopted(x), "Module h.0.known is in no initialised model",
               "the root above it was not initialised", "call initialise(seed, dtype) on the whole");
  model.initialise(7, at::kDouble);
  for (const bool training : {true, false}) {
    model.set_training(training);
    EXPECT_NO_THROW(model.adopted(x));
    EXPECT_ERROR(model.forgotten(x), "Module drop is in no initialised model: nothing has adopted it",
                 "adopt(...) each part in its owner's constructor");
    EXPECT_ERROR(model.never(x), "Module never is in no initialised model");
    EXPECT_ERROR(model.forgotten.active(), "Module drop");
  }
}

TEST(Dropout, SaysWhatDoesNotFit) {
  EXPECT_ERROR(Dropout("drop", 1), "Dropout drop: a probability of 1", "below 1");
  EXPECT_ERROR(Dropout("drop", -0.1), "a probability of -0.1");
  Dropout drop("drop", 0.5);
  drop.initialise(7, at::kDouble);
  EXPECT_ERROR(drop(ones(Space(Partition::simulated(2), {4}).partial("world"))), "dropout drop",
               "Partial on axis world");
}

}  // namespace
}  // namespace riesz::testing
