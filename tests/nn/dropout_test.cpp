// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/dropout.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

#include "expect.h"
#include "riesz/comm/error.h"
#include "riesz/comm/thread.h"
#include "riesz/nn/module.h"
#include "riesz/nn/random/dropout_mask.h"
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
  const ContextScope scope({.training = true, .seed = 7, .step = 2});
  const at::Tensor mask = detail::dropout_mask(Space(Partition::simulated(1), kShape),
                                               philox_key(7, "resid_dropout"), 2, 0.3, at::kDouble);
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

TEST(Dropout, InAThreadMasksAsOutside) {
  Dropout drop("drop", 0.5);
  const Space X(Partition::world(), {64});
  at::Tensor outside, inside, without;
  {
    const ContextScope scope({.training = true, .seed = 7, .step = 2});
    outside = drop(ones(X)).local().detach();
    Thread thread([&] {
      inside = drop(ones(X)).local().detach();
      const ContextScope another({.training = true, .seed = 7, .step = 3});
      Thread([&] { without = drop(ones(X)).local().detach(); }).join();  // of its own maker's
    });
    thread.join();
  }
  EXPECT_SAME_BITS(inside, outside);
  EXPECT_FALSE(at::equal(without, outside));
  Thread([] { EXPECT_EQ(ContextScope::current(), nullptr); }).join();
}

/// The maker's scope may end before the thread does.
TEST(Dropout, OfAThreadMasksAsItsMakerDidWhenItBegan) {
  Dropout drop("drop", 0.5);
  const Space X(Partition::world(), {64});
  std::promise<void> ended;
  at::Tensor outside, inside;
  std::optional<Thread> thread;
  {
    const ContextScope scope({.training = true, .seed = 7, .step = 2});
    outside = drop(ones(X)).local().detach();
    thread.emplace([&] {
      ended.get_future().wait();
      inside = drop(ones(X)).local().detach();
    });
  }
  ended.set_value();
  thread->join();
  EXPECT_SAME_BITS(inside, outside);
}

TEST(Dropout, OfAnyTypeMasksByGlobalIndexWhereverTheVectorLies) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 40; ++i) {
    Dropout drop("drop", 0.1 * (1 + random.any_of(9)));
    const ContextScope scope({.training = true, .seed = 7, .step = i});
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
  const ContextScope scope({.training = true, .seed = 7});
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
    const ContextScope scope({.training = true, .seed = seed, .step = step});
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
  EXPECT_TRUE(none(x).local().is_same(x.local())) << "without any context";
  const ContextScope scope({.training = false});

  EXPECT_FALSE(drop.active());
  EXPECT_TRUE(drop(x).local().is_same(x.local()));
}

/// However the global batch is cut into micro-batches, and these over workers.
TEST(Dropout, OfAMicroBatchIsItsRowsOfTheGlobalBatchs) {
  const Dropout drop("drop", 0.4);
  const Context whole{.training = true, .seed = 7, .step = 3};
  const at::Tensor expected = [&] {
    const ContextScope scope(whole);
    return drop(ones(Space(Partition::simulated(1), kShape))).local().detach();
  }();
  for (const int parts : {1, 2, 3, 5}) {
    const Split split = Split::balanced(kShape[0], parts);
    for (const Partition& mesh : meshes()) {
      for (int part = 0; part < parts; ++part) {
        Context context = whole;
        context.first_row = split[part].begin;
        context.rows = kShape[0];
        const ContextScope scope(context);
        const Space X = Space(mesh, {split[part].size(), 3, 7}).sharded(0, "dp").sharded(2, "tp");
        EXPECT_TRUE(means(drop(ones(X)), expected.narrow(0, split[part].begin, split[part].size()), 0))
            << part << " of " << parts << " in " << to_string(X);
      }
    }
  }
}

TEST(Dropout, InNoContextSaysSo) {
  const Vector x = ones(Space(Partition::simulated(1), {20}));
  const Dropout drop("h.0.drop", 0.5);

  EXPECT_ERROR(drop(x), "Dropout h.0.drop is called in no context", "ContextScope scope({.training");
  EXPECT_ERROR(drop.active(), "Dropout h.0.drop");
}

TEST(Dropout, OfMoreRowsThanTheGlobalBatchHasSaysSo) {
  const ContextScope scope({.training = true, .first_row = 15, .rows = 30});
  const Dropout drop("drop", 0.5);

  EXPECT_ERROR(drop(ones(Space(Partition::simulated(1), {20}))), "Dropout drop: rows 15 to 35",
               "a global batch of 30");
  EXPECT_ERROR(ContextScope({.first_row = 3, .rows = 2}), "row 3 of a global batch of 2",
               "`rows` says how many rows the global batch has: of micro-batches the sum");
}

TEST(Dropout, SaysWhatDoesNotFit) {
  EXPECT_ERROR(Dropout("drop", 1), "Dropout drop: a probability of 1", "below 1");
  EXPECT_ERROR(Dropout("drop", -0.1), "a probability of -0.1");
  Dropout drop("drop", 0.5);
  const ContextScope scope({.training = true});
  EXPECT_ERROR(drop(ones(Space(Partition::simulated(2), {4}).partial("world"))), "dropout drop",
               "Partial on axis world");
}

}  // namespace
}  // namespace riesz::testing
