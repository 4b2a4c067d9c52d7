// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/initial.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/maximum.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "../primitives/random_spaces.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

const Partition alone = Partition::simulated(1);

std::vector<Initial> initials() {
  return {Initial::zeros(),
          Initial::ones(),
          Initial::normal(0.02),
          Initial{2, 0.5},
          Initial::uniform(-0.3, 0.7),
          Initial::truncated_normal(1, 2, -1, 4),
          Initial::kaiming_uniform(7, 0.2),
          Initial::kaiming_normal(7),
          Initial::xavier_uniform({7, 5}),
          Initial::xavier_normal({7, 5}, 2),
          Initial::constant(0.3)};
}

/// The same bits as one worker draws, at random placements of any kind, also in several intervals and with
/// overlaps.
TEST(Initial, IsTheSameAtEveryLayout) {
  for (int workers : {1, 2, 3, 4, 6, 8}) {
    for (int i = 0; i < 10; ++i) {
      for (int me = 0; me < workers; ++me) {
        RandomSpaces random(static_cast<std::uint64_t>(100 * workers + i));  // alike for each `me`
        const Space X = random.shape(random.grid(Partition::simulated(workers, me)));
        const Space placed = random.lay_out(X, {Placement::Replicated, Placement::Copied}, false);
        for (const Initial& initial : initials()) {
          const at::Tensor whole = initial_value(initial, Space(alone, X.shape()), 42).reshape({-1});
          const at::Tensor part = initial_value(initial, placed, 42);

          ASSERT_EQ(part.sizes(), at::IntArrayRef(placed.local_shape())) << to_string(placed);
          EXPECT_SAME_BITS(part, whole.take(global_indices(placed, me)).view_as(part)) << to_string(placed);
        }
      }
    }
  }
}

constexpr std::int64_t kDraws = 100000;

at::Tensor drawn(const Initial& initial) { return initial_value(initial, Space(alone, {kDraws}), 7); }

/// Kolmogorov's test: the draws' share below x is nowhere far from `distribution`(x); by chance once in 1000.
void expect_distribution(const Initial& initial,
                         const std::function<at::Tensor(const at::Tensor&)>& distribution) {
  const at::Tensor x = std::get<0>(drawn(initial).sort());
  const at::Tensor expected = distribution(x);
  const at::Tensor share = at::arange(kDraws, at::kDouble).div(kDraws);
  const at::Tensor distance =
      at::maximum(expected.sub(share).abs(), expected.sub(share.add(1.0 / kDraws)).abs());
  EXPECT_LT(distance.max().item<double>(), 1.95 / std::sqrt(static_cast<double>(kDraws)));
}

void expect_moments(const Initial& initial, double mean, double deviation) {
  const at::Tensor x = drawn(initial);
  const double n = kDraws;
  EXPECT_NEAR(x.mean().item<double>(), mean, 5 * deviation / std::sqrt(n));
  EXPECT_NEAR(x.sub(mean).square().mean().sqrt().item<double>(), deviation, 5 * deviation / std::sqrt(n));
}

TEST(Initial, UniformIsSpreadEvenlyBetweenItsBounds) {
  const Initial initial = Initial::uniform(-0.3, 0.7);

  expect_distribution(initial, [](const at::Tensor& x) { return x.add(0.3); });
  expect_moments(initial, 0.2, 1 / std::sqrt(12.0));
  EXPECT_GE(drawn(initial).min().item<double>(), -0.3);
  EXPECT_LE(drawn(initial).max().item<double>(), 0.7);
  EXPECT_TRUE(drawn(Initial::uniform(0.3, 0.3)).eq(0.3).all().item<bool>());
}

TEST(Initial, NormalHasItsMeanAndDeviation) {
  const Initial initial{2, 0.5};

  expect_distribution(initial,
                      [](const at::Tensor& x) { return x.sub(2).div(-0.5 * std::sqrt(2.0)).erfc().div(2); });
  expect_moments(initial, 2, 0.5);
}

/// Φ((x − mean)/deviation) between the bounds, scaled to 0 … 1.
void expect_truncated(double mean, double deviation, double a, double b) {
  SCOPED_TRACE(::testing::Message() << "between " << a << " and " << b);
  const Initial initial = Initial::truncated_normal(mean, deviation, a, b);
  const double sign = a > mean ? -1 : 1;  // left of the mean the tail keeps its digits
  const auto below = [&](double x) { return std::erfc(-sign * (x - mean) / deviation / std::sqrt(2.0)) / 2; };
  expect_distribution(initial, [&](const at::Tensor& x) {
    return x.sub(mean)
        .mul(-sign / deviation / std::sqrt(2.0))
        .erfc()
        .div(2)
        .sub(below(a))
        .div(below(b) - below(a));
  });
  EXPECT_GE(drawn(initial).min().item<double>(), a);
  EXPECT_LE(drawn(initial).max().item<double>(), b);
}

TEST(Initial, TruncatedNormalIsNormalBetweenItsBounds) {
  expect_truncated(1, 2, -1, 4);
  expect_truncated(0, 0.02, -0.04, 0.04);
  expect_truncated(0, 1, -3, -2);
  expect_truncated(0, 1, 2, 3);
  expect_truncated(0, 1, 9, 10);  // 1 − Φ(9) = 1e-19 is lost beside 1
  expect_truncated(0, 1, -10, -9);
  expect_truncated(0, 1, -0.5, 40);
}

TEST(Initial, KaimingAndXavierFollowTheFans) {
  const Fans fans{6, 18};

  EXPECT_DOUBLE_EQ(Initial::kaiming_uniform(6).greatest, 1);
  EXPECT_DOUBLE_EQ(Initial::kaiming_uniform(3, 1).greatest, 1);
  EXPECT_DOUBLE_EQ(Initial::kaiming_uniform(4, std::sqrt(5)).greatest, 0.5);  // torch's Linear: 1/√fan
  EXPECT_DOUBLE_EQ(Initial::kaiming_normal(8).deviation, 0.5);
  EXPECT_DOUBLE_EQ(Initial::xavier_uniform(fans).greatest, 0.5);
  EXPECT_DOUBLE_EQ(Initial::xavier_uniform(fans, 3).greatest, 1.5);
  EXPECT_DOUBLE_EQ(Initial::xavier_normal({3, 5}).deviation, 0.5);
  for (const Initial& initial : {Initial::kaiming_uniform(6), Initial::xavier_uniform(fans)}) {
    EXPECT_EQ(initial.least, -initial.greatest);
    expect_moments(initial, 0, initial.greatest / std::sqrt(3.0));
  }
  expect_moments(Initial::kaiming_normal(8), 0, 0.5);
  expect_moments(Initial::xavier_normal({3, 5}), 0, 0.5);
}

TEST(Initial, DiffersByKey) {
  for (const Initial& initial : initials()) {
    const at::Tensor one = initial_value(initial, Space(alone, {50}), 1);
    const at::Tensor two = initial_value(initial, Space(alone, {50}), 2);
    const bool constant = initial.law == Initial::Law::normal && initial.deviation == 0;
    EXPECT_EQ(at::equal(one, two), constant);
  }
}

TEST(Initial, OutsideThePartitionIsEmptyAndOfAScalarIsOneDraw) {
  const Partition others = Partition::simulated(3, 0).subset({1, 2});
  for (const Initial& initial : initials()) {
    EXPECT_EQ(initial_value(initial, Space(others, {4}), 1).numel(), 0);
    EXPECT_EQ(initial_value(initial, Space(alone, {}), 1).dim(), 0);
  }
}

TEST(Initial, SaysWhatIsWrong) {
  EXPECT_ERROR(Initial::uniform(1, 0), "Initial::uniform between 1 and 0", "the first is the least");
  EXPECT_ERROR(Initial::truncated_normal(0, 0, -1, 1), "of deviation 0 between -1 and 1", "is positive");
  EXPECT_ERROR(Initial::truncated_normal(0, 1, 1, 1), "between 1 and 1");
  EXPECT_ERROR(Initial::truncated_normal(0, 1, 50, 60), "has no part between 50 and 60");
  EXPECT_ERROR(Initial::kaiming_normal(0), "a fan of 0");
  EXPECT_ERROR(Initial::xavier_uniform({0, 0}), "a fan of 0");
}

TEST(Fans, OfAContractionsWeightAreWhatIsSummedAndWhatIsSpread) {
  EXPECT_EQ(fans_of("bti,io->bto", {7, 5}), (Fans{7, 5}));
  EXPECT_EQ(fans_of("bti,oi->bto", {5, 7}), (Fans{7, 5}));
  EXPECT_EQ(fans_of("btc,cshd->btshd", {6, 3, 2, 4}), (Fans{6, 24}));
  EXPECT_EQ(fans_of("bthd,hdc->btc", {2, 4, 6}), (Fans{8, 6}));
  EXPECT_EQ(fans_of("ebi,eio->ebo", {9, 7, 5}), (Fans{7, 5})) << "nine layers beside each other";
}

TEST(Fans, OfAShapeAreTorchs) {
  EXPECT_EQ(fans_of({5, 7}), (Fans{7, 5}));
  EXPECT_EQ(fans_of({5, 7, 3, 2}), (Fans{42, 30}));
  EXPECT_ERROR(fans_of({5}), "two dims or more, unlike [5]");
  EXPECT_ERROR(fans_of("bti,io->bto", {5}), "bti,io->bto has 2 dims, unlike [5]");
}

TEST(Uniform, IsTheWordOfTheGlobalIndexBetween0And1) {
  const at::Tensor x = uniform(Space(alone, {kDraws}), 9);

  EXPECT_GT(x.min().item<double>(), 0);
  EXPECT_LT(x.max().item<double>(), 1);
  EXPECT_TRUE(x.mul(0x1p32).sub(0.5).frac().eq(0).all().item<bool>());
  EXPECT_TRUE(
      at::equal(x.lt(0.25), detail::dropout_mask(Space(alone, {kDraws}), 9, 0, 0.25, at::kDouble).eq(0)));
}

}  // namespace
}  // namespace riesz::testing
