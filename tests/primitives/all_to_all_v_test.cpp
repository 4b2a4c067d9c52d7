// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/all_to_all_v.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// How many rows `from` has for `to`: uneven, some none.
std::int64_t rows(int from, int to) { return (3 * from + 5 * to) % 4; }

at::Tensor piece(int from, int to, at::ScalarType type) {
  const std::int64_t n = rows(from, to);
  return at::arange(2 * n, at::kLong).add(100 * from + 10 * to).remainder(120).view({n, 2}).to(type);
}

TEST(AllToAllV, RowsGoWhereTheySayAsManyAsTheySay) {
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16, at::kLong, at::kByte, at::kBool}) {
    for_each_grid(Runtime::size(), [&](const Partition& grid) {
      const std::string axis = grid.axes().back().name;
      const int me = grid.rank();
      const std::vector<int> fibre = grid.fibre(me, {grid.index(axis)});
      std::vector<at::Tensor> pieces;
      Traffic expected;
      for (const int peer : fibre) {
        pieces.push_back(piece(me, peer, type));
        if (peer == me) continue;
        const std::int64_t n = pieces.back().numel();
        expected += {1, 8, 1};
        if (n > 0) expected += {n, n * static_cast<std::int64_t>(pieces.back().element_size()), 1};
      }
      Counters::instance().reset();

      const std::vector<at::Tensor> received = all_to_all_v(grid, {axis}, pieces);

      EXPECT_EQ(Counters::instance().total(), expected);
      ASSERT_EQ(received.size(), fibre.size());
      for (std::size_t i = 0; i < fibre.size(); ++i) EXPECT_SAME_BITS(received[i], piece(fibre[i], me, type));
    });
  }
}

TEST(AllToAllV, TakesRowsThatAreNotContiguousAndLeavesTheChainAlone) {
  const Partition world = Partition::world();
  const at::Tensor turned = at::arange(6, at::kDouble).view({2, 3}).t().requires_grad_();
  Chain chain;
  const at::Tensor before = chain.token();

  const std::vector<at::Tensor> all =
      all_to_all_v(world, {"world"}, std::vector<at::Tensor>(static_cast<std::size_t>(world.size()), turned));

  for (const at::Tensor& received : all) {
    EXPECT_SAME_BITS(received, turned.contiguous());
    EXPECT_FALSE(received.requires_grad());
  }
  EXPECT_TRUE(chain.token().is_same(before));
}

TEST(AllToAllV, RefusesPiecesThatDiffer) {
  const Partition world = Partition::world();
  const auto p = static_cast<std::size_t>(world.size());
  std::vector<at::Tensor> pieces(p, at::zeros({1, 2}));
  Counters::instance().reset();

  EXPECT_ERROR(all_to_all_v(world, {"world"}, std::vector<at::Tensor>(p + 1, pieces.front())), "pieces for",
               "give one to each");
  EXPECT_ERROR(all_to_all_v(world, {"none"}, pieces), "none");
  if (p > 1) {
    pieces.back() = at::zeros({1, 3});
    EXPECT_ERROR(all_to_all_v(world, {"world"}, pieces), "[1, 2]", "[1, 3]", "in the number of rows only");
    pieces.back() = at::zeros({1, 2}, at::kLong);
    EXPECT_ERROR(all_to_all_v(world, {"world"}, pieces), "Float", "Long");
  }
  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

TEST(AllCounts, AreEveryWorkersInRankOrder) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    const std::string axis = grid.axes().front().name;
    const std::vector<std::int64_t> counts = all_counts(grid, {axis}, 7 + grid.rank());
    std::vector<std::int64_t> expected;
    for (const int rank : grid.fibre(grid.rank(), {0})) expected.push_back(7 + rank);
    EXPECT_EQ(counts, expected);
  });
}

TEST(Flags, AreSetOnAnyOrOnEveryWorker) {
  const Partition world = Partition::world();
  const bool last = world.rank() == world.size() - 1;

  EXPECT_TRUE(any_flag(world, {"world"}, last));
  EXPECT_FALSE(any_flag(world, {"world"}, false));
  EXPECT_TRUE(every_flag(world, {"world"}, true));
  EXPECT_EQ(every_flag(world, {"world"}, last), world.size() == 1);
}

TEST(AllMin, IsTheLeast) {
  const Partition world = Partition::world();
  const at::Tensor x = at::full({3}, world.size() - world.rank(), at::kLong);

  EXPECT_SAME_BITS(all_min(world, {"world"}, x), at::full({3}, 1, at::kLong));
}

}  // namespace
}  // namespace riesz::testing
