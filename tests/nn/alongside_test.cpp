// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/alongside.h"

#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expect.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/print.h"

namespace riesz::testing {
namespace {

TEST(Alongside, BroadcastsFromAnyPlacementBesideAny) {
  RandomSpaces random(static_cast<std::uint64_t>(Partition::world().size()));
  for (int i = 0; i < 20; ++i) {
    const Partition grid = random.grid(some_workers(random));
    const auto placed = [&](const Space& X) { return random.place(X, {Placement::Replicated}); };
    const Space Y = placed(Space(grid, {4, 3, 5}));
    const Space C = placed(Space(grid, {5})), TC = placed(Space(grid, {3, 5}));
    for (const auto& [indices, W] : {std::pair<std::string, Space>{"c", C}, {"tc", TC}}) {
      SCOPED_TRACE("y in " + to_string(Y) + "\nw in " + to_string(W));
      const at::Tensor w_global = draws(W.shape(), 1), y_global = draws(Y.shape(), 2),
                       ybar = draws(Y.shape(), 3);
      const Vector y = leaf(Y, y_global), w = leaf(W, w_global);
      Alongside beside("btc", indices);

      Chain chain;
      const Vector z(Y, at::mul(y.local(), beside(Y, w)));
      const std::vector<Vector> gradients = pullback(z, distribute(dual(Y), ybar), {y, w});

      const at::Tensor over_b = ybar.mul(y_global).sum(0);
      EXPECT_TRUE(means(z, y_global.mul(w_global)));
      EXPECT_TRUE(means(gradients[0], ybar.mul(w_global)));
      EXPECT_TRUE(means(gradients[1], indices == "c" ? over_b.sum(0) : over_b));
    }
  }
}

TEST(Alongside, IsShardedCopiedOrReplicatedAsYSays) {
  const Partition mesh = Partition::simulated(8).grid({{"dp", 2}, {"tp", 2}, {"pp", 2}});
  const Space Y = Space(mesh, {4, 6}).sharded(0, "dp").sharded(1, "tp");

  const Operator read = alongside("bc", Y, "c", Space(mesh, {6}).sharded(0, "tp"));

  EXPECT_EQ(read.range(), Space(mesh, {6}).sharded(0, "tp").copied("dp"));
}

TEST(Alongside, SaysWhatDoesNotFit) {
  const Partition P = Partition::simulated(2);
  const Space W(P, {5});

  EXPECT_ERROR(alongside("bc", Space(P, {4, 5}).partial("world"), "c", W),
               "is to stand beside one that is Partial on axis world", "between(X, Y)");
  EXPECT_ERROR(alongside("bc", Space(P, {4, 5}).copied("world"), "c", W), "Copied on axis world");
  EXPECT_ERROR(Alongside("btc", "ct"), "the indices \"ct\" are not among \"btc\" in their order");
  EXPECT_ERROR(Alongside("btc", "d"), "not among");
}

}  // namespace
}  // namespace riesz::testing
