// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/random.h"

#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "riesz/nn/random/dropout_mask.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Place = std::function<Space(const Partition&)>;
using Draw = std::function<at::Tensor(const Space&)>;

struct Layout {
  std::vector<Axis> axes;
  Place place;
};

const std::vector<std::int64_t> kShape{5, 6, 7};

std::vector<Layout> layouts() {
  const auto on = [](const Partition& P) { return Space(P, kShape); };
  return {
      {{{"a", 3}}, [on](const Partition& P) { return on(P); }},
      {{{"a", 3}}, [on](const Partition& P) { return on(P).sharded(0, "a"); }},
      {{{"a", 4}}, [on](const Partition& P) { return on(P).sharded(2, "a"); }},
      {{{"a", 8}}, [on](const Partition& P) { return on(P).sharded(0, "a"); }},
      {{{"a", 4}}, [on](const Partition& P) { return on(P).unit(1, 3).sharded(1, "a"); }},
      {{{"a", 2}, {"b", 3}}, [on](const Partition& P) { return on(P).sharded(1, "b").sharded(2, "a"); }},
      {{{"a", 2}, {"b", 2}}, [on](const Partition& P) { return on(P).sharded(2, "b").sharded(2, "a"); }},
      {{{"a", 2}, {"b", 2}}, [on](const Partition& P) { return on(P).copied("a").sharded(1, "b"); }},
      {{{"a", 3}},
       [on](const Partition& P) {
         return on(P).sharded(2, "a", Split::sizes({0, 6, 1}));
       }},
  };
}

/// What all workers of a layout draw, put together; each worker sees the layout with itself as `me`.
void expect_same_at_every_layout(const Draw& draw) {
  const at::Tensor alone = draw(Space(Partition::simulated(1), kShape));
  for (const Layout& layout : layouts()) {
    int workers = 1;
    for (const Axis& axis : layout.axes) workers *= axis.extent;
    std::vector<at::Tensor> parts;
    for (int me = 0; me < workers; ++me) {
      parts.push_back(draw(layout.place(Partition::simulated(workers, me).grid(layout.axes))));
    }
    const Space X = layout.place(Partition::simulated(workers).grid(layout.axes));

    EXPECT_TRUE(belongs(X, parts, true)) << to_string(X);
    EXPECT_TRUE(at::equal(meant(X, parts), alone)) << to_string(X);
  }
}

std::uint32_t word(std::uint64_t key, std::uint64_t step, std::int64_t element) {
  at::Philox4_32 engine(key, step, static_cast<std::uint64_t>(element) / 4);
  for (std::int64_t lane = 0; lane < element % 4; ++lane) engine();
  return engine();
}

TEST(Normal, IsTheSameAtEveryLayout) {
  expect_same_at_every_layout([](const Space& X) { return normal(X, 42); });
}

TEST(Normal, IsBoxMullerOnTheWordsOfTheGlobalIndex) {
  const at::Tensor x = normal(Space(Partition::simulated(1), {11}), 42);

  for (std::int64_t i = 0; i < 11; ++i) {
    const double u = (word(42, 0, i - i % 2) + 0.5) / 4294967296.0;
    const double angle = 2 * std::numbers::pi * word(42, 0, i - i % 2 + 1) / 4294967296.0;
    const double expected = std::sqrt(-2 * std::log(u)) * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    EXPECT_DOUBLE_EQ(x[i].item<double>(), expected) << "element " << i;
  }
}

TEST(Normal, HasTheMomentsOfNormalDraws) {
  constexpr double n = 100000;
  const at::Tensor x = normal(Space(Partition::simulated(1), {100000}), 9);

  // within five deviations of each mean
  EXPECT_NEAR(x.mean().item<double>(), 0, 5 / std::sqrt(n));
  EXPECT_NEAR(x.square().mean().item<double>(), 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(x.pow(3).mean().item<double>(), 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(x.pow(4).mean().item<double>(), 3, 5 * std::sqrt(96 / n));
  for (const std::int64_t lag : {1, 2, 3, 4}) {
    const at::Tensor products = x.narrow(0, 0, 100000 - lag).mul(x.narrow(0, lag, 100000 - lag));
    EXPECT_NEAR(products.mean().item<double>(), 0, 5 / std::sqrt(n)) << "lag " << lag;
  }
}

TEST(Normal, OutsideThePartitionIsEmpty) {
  const Partition others = Partition::simulated(3, 0).subset({1, 2});

  EXPECT_EQ(normal(Space(others, {4}), 1).numel(), 0);
  EXPECT_EQ(normal(Space(others, {}), 1).numel(), 0);
  EXPECT_EQ(detail::dropout_mask(Space(others, {4}), 1, 0, 0.5, at::kDouble).numel(), 0);
  EXPECT_EQ(normal(Space(Partition::simulated(1), {}), 1).dim(), 0);
}

TEST(DropoutMask, IsTheSameAtEveryLayout) {
  expect_same_at_every_layout(
      [](const Space& X) { return detail::dropout_mask(X, 42, 3, 0.3, at::kDouble); });
}

TEST(DropoutMask, DropsWhereTheWordIsBelowTheThreshold) {
  const at::Tensor mask =
      detail::dropout_mask(Space(Partition::simulated(1), {200}), 42, 3, 0.25, at::kDouble);

  for (std::int64_t i = 0; i < 200; ++i) {
    const double expected = word(42, 3, i) < (1U << 30) ? 0 : 1 / 0.75;
    EXPECT_EQ(mask[i].item<double>(), expected) << "element " << i;
  }
}

TEST(DropoutMask, DropsAtItsRateAndKeepsTheMean) {
  constexpr double n = 100000;
  constexpr double p = 0.1;
  const at::Tensor mask =
      detail::dropout_mask(Space(Partition::simulated(1), {100000}), 1, 1, p, at::kDouble);

  EXPECT_NEAR(mask.eq(0).to(at::kDouble).mean().item<double>(), p, 5 * std::sqrt(p * (1 - p) / n));
  EXPECT_NEAR(mask.mean().item<double>(), 1, 5 * std::sqrt(p / (1 - p) / n));
}

TEST(DropoutMask, DiffersByStepAndKeyAndHasTheTypeAskedFor) {
  const Space X(Partition::simulated(1), {1000});
  const at::Tensor mask = detail::dropout_mask(X, 1, 1, 0.5, at::kFloat);

  EXPECT_EQ(mask.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(mask, detail::dropout_mask(X, 1, 2, 0.5, at::kFloat)));
  EXPECT_FALSE(at::equal(mask, detail::dropout_mask(X, 2, 1, 0.5, at::kFloat)));
  EXPECT_TRUE(at::equal(mask.to(at::kDouble), detail::dropout_mask(X, 1, 1, 0.5, at::kDouble)));
  EXPECT_TRUE(detail::dropout_mask(X, 1, 1, 0, at::kFloat).eq(1).all().item<bool>());
}

}  // namespace
}  // namespace riesz::testing
