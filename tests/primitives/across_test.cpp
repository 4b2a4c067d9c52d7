// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Between partitions: Scatter, Gather, SendRecv, Broadcast, SumReduce, Repartition, from and to any workers.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "moves.h"
#include "reference.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/moves.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/matrix.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

struct Pair {
  Partition small;
  Partition large;
};

std::vector<int> numbers(int count, int first = 0) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

std::vector<int> reversed(std::vector<int> ranks) {
  std::reverse(ranks.begin(), ranks.end());
  return ranks;
}

/// One-worker roots anywhere, fewer axes, axes of one worker; equal, overlapping and disjoint ranks, in any
/// order.
std::vector<Pair> pairs() {
  const Partition world = Partition::world();
  const int n = world.size();
  std::vector<Pair> pairs;
  for (int root = 0; root < n; ++root) pairs.push_back({world.subset({root}), world});
  pairs.push_back({world.subset({0}), world.subset(reversed(numbers(n)))});
  if (n > 1) {
    pairs.push_back({world.subset({n - 1}), world.subset(numbers(n - 1)).grid({{"b", n - 1}})});  // disjoint
    pairs.push_back(
        {world.subset({0}).grid({{"a", 1}, {"b", 1}}), world.subset(numbers(n - 1, 1)).grid({{"b", n - 1}})});
  }
  if (n % 2 == 0) {
    const Partition grid = world.grid({{"a", n / 2}, {"b", 2}});
    for (int at = 0; at < 2; ++at) {
      pairs.push_back({grid.at("b", at), grid});
      pairs.push_back({grid.at("b", at).grid({{"a", n / 2}, {"b", 1}}), grid});
      pairs.push_back(
          {grid.at("b", at).grid({{"x", 1}, {"b", 1}, {"a", n / 2}}), world.grid({{"b", 2}, {"a", n / 2}})});
    }
  }
  if (n >= 3) {  // two workers into four or two of three, overlapping
    const Partition two = world.subset({2, 1}).grid({{"a", 2}});
    pairs.push_back({two, world.subset({1, 0}).grid({{"a", 2}, {"b", 1}})});
    if (n >= 4) pairs.push_back({two, world.subset({3, 1, 0, 2}).grid({{"b", 2}, {"a", 2}})});
    if (n >= 6) pairs.push_back({two, world.subset({0, 3, 4, 5}).grid({{"a", 2}, {"c", 2}})});  // disjoint
  }
  return pairs;
}

/// Spaces on a small partition: its larger axis placed in every way, and with sizes of its own.
std::vector<Space> spaces_on(const Partition& P) {
  const Space X(P, {3, 2});
  std::string axis = P.axes().front().name;
  for (const Axis& other : P.axes()) {
    if (other.extent > P.extent(axis)) axis = other.name;
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(P.extent(axis)), 0);
  sizes.back() = 3;
  return {X, X.sharded(0, axis), X.sharded(0, axis, Split::sizes(sizes)), X.copied(axis), X.partial(axis)};
}

/// X seen on Q, Copied on the axes that are new.
Space seen_on(const Space& X, const Partition& Q) {
  Space Y(Q, X.shape());
  for (const Axis& axis : Q.axes()) Y = Y.copied(axis.name);
  for (const Axis& axis : X.partition().axes()) {
    if (axis.extent == 1) continue;
    const int dim = X.dim_of(X.partition().index(axis.name));
    if (dim < 0) {
      Y = Y.placed(axis.name, X.placement(axis.name));
      continue;
    }
    const Shard& shard = X.shards(dim).front();
    Y = shard.split ? Y.replicated(axis.name).sharded(dim, axis.name, *shard.split)
                    : Y.replicated(axis.name).sharded(dim, axis.name);
  }
  return Y;
}

/// The step upwards: a Broadcast, or where both have as many workers a SendRecv.
Step up(const Space& X, const Partition& Q) { return primitives::across(X, seen_on(X, Q)); }

void for_each_step(const std::function<void(const Step&)>& f) {
  for (const Pair& pair : pairs()) {
    for (const Space& X : spaces_on(pair.small)) {
      const Step step = up(X, pair.large);
      SCOPED_TRACE(to_string(*step) + "\n  from " + to_string(X) + "\n  to " + to_string(step->range()));
      f(step);
      f(step->adjoint());
    }
  }
}

TEST(AcrossPartitions, PartsArriveWhereTheyBelongAtTheFormulasCost) {
  const at::NoGradGuard guard;
  constexpr at::ScalarType types[] = {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf};
  int turn = 0;
  for_each_step([&](const Step& step) {
    const Partition& P = step->domain().partition();
    const Partition& Q = step->range().partition();
    const std::vector<at::Tensor> parts = random_parts(step->domain(), 5, false, types[++turn % 4]);
    Counters::instance().reset();

    const Vector y = alone(step)(part_of(step->domain(), parts));

    const Traffic counted = Counters::instance().total();
    const at::Tensor nothing = at::empty({0}, parts.front().options());
    EXPECT_SAME_BITS(y.local(), Q.active() ? expected_part(*step, parts, Q.rank()) : nothing);
    const Traffic sent = expected_from(*step, Runtime::rank());
    const auto size = static_cast<std::int64_t>(parts.front().element_size());
    EXPECT_EQ(counted, (Traffic{sent.elements, size * sent.elements, sent.messages}));
    for (int rank = 0; rank < P.size(); ++rank)
      EXPECT_EQ(alone(step).traffic(rank), expected_sent(*step, rank));
    for (int rank = 0; rank < Q.size(); ++rank) {
      EXPECT_EQ(step->adjoint()->traffic(rank), expected_received(*step, rank));
    }
  });
}

TEST(AcrossPartitions, AdjointsAreAdjoint) {
  for_each_step([](const Step& step) { EXPECT_ADJOINT(alone(step)); });
}

TEST(AcrossPartitions, MatricesAreTransposed) {
  for (const Pair& pair : pairs()) {
    EXPECT_MATRIX_ADJOINT(alone(up(Space(pair.small, {2}), pair.large)));
  }
}

/// The space with its axes placed in some way, by turns.
Space some_space(const Partition& P, std::vector<std::int64_t> shape, int turn) {
  Space X(P, std::move(shape));
  for (const Axis& axis : P.axes()) {
    const int way = turn++ % 5;
    if (way < 2)
      X = X.sharded(way, axis.name);
    else
      X = X.placed(axis.name, way == 2   ? Placement::Replicated
                              : way == 3 ? Placement::Copied
                                         : Placement::Partial);
  }
  return X;
}

void expect_natural(const Space& X, const Space& Y) {
  SCOPED_TRACE("from " + to_string(X) + "\n  to " + to_string(Y));
  const Operator A = between(X, Y);
  EXPECT_EQ(adjoint(A), between(dual(Y), dual(X)));
  EXPECT_ADJOINT(A);
  const at::NoGradGuard guard;
  const Vector y = A(random_vector(X, 1, true));
  const std::vector<at::Tensor> found = all_parts(Y.partition(), y.local());
  if (!Y.partition().active()) return;
  EXPECT_TRUE(belongs(Y, found, true));
  const at::Tensor v = meant(X, random_parts(X, 1, true));
  const double difference = meant(Y, found).sub(v).abs().max().item<double>();
  EXPECT_LE(difference, 1e-13);
}

TEST(Between, PartitionsKeepsTheVectorMeant) {
  int turn = 0;
  for (const Pair& pair : pairs()) {
    for (int i = 0; i < 3; ++i) {
      const Space X = some_space(pair.small, {3, 2}, turn += 1);
      const Space Y = some_space(pair.large, {3, 2}, turn += 3);
      expect_natural(X, Y);
      expect_natural(Y, X);
    }
  }
}

TEST(Between, PartitionsIsBuiltInAnyOrderOnAnyWorker) {
  const at::NoGradGuard guard;
  const Partition world = Partition::world();
  std::vector<int> order = numbers(world.size());
  std::rotate(order.begin(), order.begin() + world.rank(), order.end());
  std::vector<Operator> broadcasts(order.size(), Operator::identity(Space(world, {3})));
  for (const int root : order) {
    broadcasts[static_cast<std::size_t>(root)] =
        between(Space(world.subset({root}), {3}), Space(world, {3}).copied("world"));
  }

  for (const Operator& A : broadcasts) {
    const std::vector<at::Tensor> parts = random_parts(A.domain(), 9, false);
    EXPECT_SAME_BITS(A(part_of(A.domain(), parts)).local(), parts.front());
  }
}

TEST(Across, NamesSayTheForm) {
  const Partition world = Partition::simulated(5);
  const Space one(world.subset({2}), {4, 3});
  const Space all(world, {4, 3});
  const Space some(world.subset({1, 4}).grid({{"a", 2}}), {4, 3});
  const Space grid(world.subset({0, 1, 2, 3}).grid({{"a", 2}, {"b", 2}}), {4, 3});
  const auto name = [](const Space& X, const Space& Y) {
    const std::string back = primitives::across(X, Y)->adjoint()->name();
    return primitives::across(X, Y)->name() + ", " + back;
  };

  EXPECT_EQ(name(one, all.sharded(0, "world")), "Scatter, Gather");
  EXPECT_EQ(name(all.sharded(1, "world"), one), "Gather, Scatter");
  EXPECT_EQ(name(one, all.copied("world")), "Broadcast, SumReduce");
  EXPECT_EQ(name(all.partial("world"), one), "SumReduce, Broadcast");
  EXPECT_EQ(name(some.sharded(0, "a"), grid.sharded(0, "a").copied("b")), "Broadcast, SumReduce");
  EXPECT_EQ(name(some.sharded(0, "a"), Space(world.subset({0, 3}).grid({{"a", 2}}), {4, 3}).sharded(0, "a")),
            "SendRecv, SendRecv");
  EXPECT_EQ(name(one, Space(world.subset({4}), {4, 3})), "SendRecv, SendRecv");
  EXPECT_EQ(name(some.sharded(0, "a"), grid.sharded(0, "b").sharded(1, "a")), "Repartition, Repartition");
}

TEST(Across, ABroadcastCostsPMinusOneFromARootAmongItsReceiversElseP) {
  const Partition world = Partition::simulated(5);
  const Space X(world.subset({2}), {4, 3});

  EXPECT_EQ(up(X, world)->traffic(0), (Traffic{48, 0, 4}));
  EXPECT_EQ(up(X, world.subset({0, 1, 3, 4}))->traffic(0), (Traffic{48, 0, 4}));
  EXPECT_EQ(up(X, world.subset({1, 2}))->traffic(0), (Traffic{12, 0, 1}));
  EXPECT_EQ(up(X, world)->adjoint()->traffic(2), Traffic{});
  EXPECT_EQ(up(X, world)->adjoint()->traffic(3), (Traffic{12, 0, 1}));
  EXPECT_EQ(up(X, world.subset({4}))->traffic(0), (Traffic{12, 0, 1}));
  EXPECT_EQ(up(X, world.subset({2}).grid({{"a", 1}}))->traffic(0), Traffic{});
}

}  // namespace
}  // namespace riesz::testing
