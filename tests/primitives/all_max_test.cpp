// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_max.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz {
namespace {

TEST(AllMax, IsTheGreatestAlongTheAxes) {
  testing::for_each_grid(Runtime::size(), [](const Partition& grid) {
    const Space X = [&] {  // every worker has numbers of its own
      Space Y(grid, {5});
      for (const Axis& axis : grid.axes()) Y = Y.copied(axis.name);
      return Y;
    }();
    const std::vector<at::Tensor> parts = testing::random_parts(X, 1, false);
    std::vector<std::string> axes{grid.axes().back().name};
    if (grid.axes().size() == 3) axes.push_back("a");
    std::vector<int> positions;
    for (const std::string& axis : axes) positions.push_back(grid.index(axis));

    at::Tensor expected = parts[static_cast<std::size_t>(grid.rank())];
    for (const int rank : grid.fibre(grid.rank(), positions)) {
      expected = expected.maximum(parts[static_cast<std::size_t>(rank)]);
    }

    EXPECT_SAME_BITS(all_max(grid, axes, parts[static_cast<std::size_t>(grid.rank())]), expected);
  });
}

TEST(AllMax, IsOutsideTheChainAndTheGraph) {
  const Partition P = Partition::world();
  const at::Tensor x = at::full({2}, 1. + P.rank(), at::kDouble).requires_grad_();
  Chain chain;
  const at::Tensor before = chain.token();

  const at::Tensor y = all_max(P, {"world"}, x);

  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(chain.token().is_same(before));
  EXPECT_SAME_BITS(y, at::full({2}, 1. * P.size(), at::kDouble));
}

TEST(AllMax, TakesWholeNumbersAndNaN) {
  const Partition P = Partition::world();

  EXPECT_EQ(all_max(P, {"world"}, at::tensor(P.rank(), at::kLong)).item<int>(), P.size() - 1);
  const double mine = P.rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 1;
  EXPECT_TRUE(all_max(P, {"world"}, at::full({}, mine, at::kDouble)).isnan().item<bool>());
}

TEST(AllMax, WaitForAllLetsNobodyGoBeforeTheLastHasCome) {
  const Partition P = Partition::world();
  const auto now = [] {
    return at::full({1}, std::chrono::steady_clock::now().time_since_epoch().count(), at::kLong);
  };
  testing::for_each_grid(Runtime::size(), [&](const Partition& grid) {
    if (P.rank() == P.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const at::Tensor came = now();
    Counters::instance().reset();
    wait_for_all(grid);
    const Traffic sent = Counters::instance().total();
    const at::Tensor left = now();

    EXPECT_LE(all_max(P, {"world"}, came).item<std::int64_t>(),
              all_min(P, {"world"}, left).item<std::int64_t>());
    Counters::instance().reset();
    any_flag(P, {"world"}, true);
    EXPECT_EQ(sent, Counters::instance().total());
  });
}

TEST(AllMax, CostsNothingOnAxesOfOneWorkerAndOutside) {
  const Partition P = Partition::world();
  const at::Tensor x = at::full({3}, 1., at::kDouble);
  Counters::instance().reset();

  EXPECT_SAME_BITS(all_max(P.grid({{"a", P.size()}, {"b", 1}}), {"b"}, x), x);
  EXPECT_SAME_BITS(all_max(P.grid({{"a", P.size()}}), {}, x), x);
  if (P.rank() > 0) {
    EXPECT_SAME_BITS(all_max(P.subset({0}), {"subset"}, x), x);
  }

  EXPECT_EQ(Counters::instance().total(), Traffic{});
  EXPECT_ERROR(all_max(P, {"dp"}, x), "no axis is named \"dp\"");
}

}  // namespace
}  // namespace riesz
