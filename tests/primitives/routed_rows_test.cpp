// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Rows to the workers that hold their blocks, as tokens go to experts.
#include "riesz/primitives/routed_rows.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <c10/util/accumulate.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/together.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// How many rows the worker at a coordinate of the axis has for a block: uneven, some none.
std::int64_t rows(int coordinate, std::int64_t block) { return (3 * coordinate + 5 * block + 1) % 4; }

std::vector<std::int64_t> counts_of(int coordinate, std::int64_t blocks) {
  std::vector<std::int64_t> counts;
  for (std::int64_t block = 0; block < blocks; ++block) counts.push_back(rows(coordinate, block));
  return counts;
}

std::int64_t sum(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

/// Rows of 3 x 2 over an axis, as many on each worker as its counts are.
Space rows_over(const Partition& grid, const std::string& axis, std::int64_t blocks) {
  std::vector<std::int64_t> sizes;
  for (int worker = 0; worker < grid.extent(axis); ++worker) sizes.push_back(sum(counts_of(worker, blocks)));
  const Split split = Split::sizes(sizes);
  return Space(grid, {split.extent(), 3, 2}).sharded(0, axis, split);
}

/// Rows over the first axis, columns over the second, one column of three on a worker or none.
Space rows_over_a(const Partition& grid, std::int64_t blocks) {
  Space X = rows_over(grid, "a", blocks);
  const Split split = *X.shards(0).front().split;
  X = X.replicated("a");
  for (std::size_t axis = 1; axis < grid.axes().size(); ++axis) {
    const std::string& name = grid.axes()[axis].name;
    X = axis == 1 ? X.sharded(1, name) : X.copied(name);
  }
  return X.sharded(0, "a", split);
}

/// Who holds which blocks: evenly, all on the last worker, and in an order of their own.
std::vector<Split> splits_of(int workers) {
  std::vector<std::int64_t> last(static_cast<std::size_t>(workers), 0);
  last.back() = 3;
  std::vector<Intervals> turned;
  for (std::int64_t worker = 0; worker < workers; ++worker)
    turned.push_back({{2 * worker + 1, 2 * worker + 2}, {2 * worker, 2 * worker + 1}});
  return {Split::balanced(2 * workers + 1, workers), Split::sizes(last), Split::pieces(2 * workers, turned),
          Split::balanced(1, workers)};
}

/// A name for each element of a worker's rows: whose it is, of which block, which row of it, and its place.
at::Tensor named_rows(const Space& X, int coordinate, std::int64_t block) {
  std::vector<std::int64_t> shape = X.local_shape();
  shape[0] = rows(coordinate, block);
  const at::Tensor places = at::arange(c10::multiply_integers(shape), at::kDouble).view(shape);
  return places.add(static_cast<double>(10000 * (100 * coordinate + block)));
}

struct Case {
  Space X;
  Split blocks;
  int me;

  std::vector<std::int64_t> counts() const { return counts_of(me, blocks.extent()); }
  RoutedRows route() const { return route_rows(X, "a", blocks, counts()); }
};

template <typename Check>
void for_each_case(const Check& check) {
  for_each_grid(Partition::world(), [&](const Partition& grid) {
    for (const Split& blocks : splits_of(grid.extent("a"))) {
      SCOPED_TRACE(to_string(grid) + ", blocks " + to_string(blocks));
      check(Case{rows_over_a(grid, blocks.extent()), blocks, grid.coordinate(grid.rank(), 0)});
    }
  });
}

/// Calls f(block) of each block that this worker holds, in its order.
template <typename Function>
void each_held(const Split& blocks, int worker, const Function& f) {
  for (const Interval& interval : blocks.held(worker)) {
    for (std::int64_t block = interval.begin; block < interval.end; ++block) f(block);
  }
}

/// The same numbers as a vector of the dual space.
Vector in_dual(const Vector& y) { return {dual(y.space()), y.local()}; }

TEST(RoutedRows, GoToTheWorkersOfTheirBlocks) {
  const at::NoGradGuard no_gradient;
  for_each_case([](const Case& of) {
    std::vector<at::Tensor> mine{named_rows(of.X, of.me, 0).narrow(0, 0, 0)};
    for (std::int64_t block = 0; block < of.blocks.extent(); ++block)
      mine.push_back(named_rows(of.X, of.me, block));
    std::vector<at::Tensor> expected{mine.front()};
    std::vector<std::int64_t> numbers;
    each_held(of.blocks, of.me, [&](std::int64_t block) {
      numbers.push_back(0);
      for (int worker = 0; worker < of.blocks.workers(); ++worker) {
        expected.push_back(named_rows(of.X, worker, block));
        numbers.back() += rows(worker, block);
      }
    });
    for (const at::ScalarType type : {at::kDouble, at::kLong}) {
      const Vector x(of.X, at::cat(mine).to(type));

      const RoutedRows routed = of.route();
      const Vector y = routed.dispatch(x);

      EXPECT_EQ(routed.rows, numbers);
      EXPECT_SAME_BITS(y.local(), at::cat(expected).to(type));
      EXPECT_EQ(y.space().shape().front(), of.X.shape().front());
      EXPECT_SAME_BITS(adjoint(routed.dispatch)(in_dual(y)).local(), x.local());
    }
  });
}

/// As docs/reference/primitives.md shows it.
TEST(RoutedRows, OfTokensGoToExpertsAndBack) {
  const at::NoGradGuard no_gradient;
  const Partition mesh = Partition::world().grid({{"ep", Runtime::size()}});
  const std::vector<std::int64_t> counts = counts_of(mesh.rank(), 8);
  const Vector x = random_vector(rows_over(mesh, "ep", 8), 3);

  const Split experts = Split::balanced(8, mesh.extent("ep"));
  const RoutedRows routed = route_rows(x.space(), "ep", experts, counts);  // 8 counts, of this worker's rows
  const Vector y = routed.dispatch(x);              // the rows of this worker's experts
  const Vector back = adjoint(routed.dispatch)(y);  // each row in its place again

  EXPECT_EQ(y.local().size(0), sum(routed.rows));
  EXPECT_SAME_BITS(back.local(), x.local());
}

TEST(RoutedRows, ComeBackByTheAdjoint) {
  for_each_case([](const Case& of) {
    EXPECT_ADJOINT(of.route().dispatch);
    EXPECT_COMPLEX_ADJOINT(of.route().dispatch);
  });
}

/// Is y, and the gradient through it, what A makes of the leaf alone?
void expect_as_alone(const Operator& A, const Vector& leaf, const Vector& y, bool last) {
  const Vector bar = random_vector(dual(A.range()), 3);
  const Vector found = pullback(y, bar, {leaf}, !last).front();
  const at::NoGradGuard no_gradient;
  EXPECT_SAME_BITS(y.local(), A(Vector(leaf.space(), leaf.local().detach())).local());
  EXPECT_SAME_BITS(found.local(), adjoint(A)(bar).local());
}

TEST(RoutedRows, ComeTogetherAndInTwoHalvesAsAlone) {
  for_each_case([](const Case& of) {
    const Operator A = of.route().dispatch;
    std::vector<Vector> leaves;
    for (const std::uint64_t seed : {1, 2, 3})
      leaves.emplace_back(of.X, random_vector(of.X, seed).local().requires_grad_());
    const Chain chain;

    const std::vector<Vector> both = together({A, A}, {leaves[0], leaves[1]});
    const Vector in_halves = A.start(leaves[2]).wait();

    expect_as_alone(A, leaves[2], in_halves, false);
    expect_as_alone(A, leaves[1], both[1], false);
    expect_as_alone(A, leaves[0], both[0], true);
  });
}

TEST(RoutedRows, CostTheRowsOfOthersBlocks) {
  const at::NoGradGuard no_gradient;
  for_each_case([](const Case& of) {
    const std::int64_t row = of.X.local_shape()[1] * of.X.local_shape()[2];
    Traffic counts;
    Traffic there;
    Traffic back;
    for (int worker = 0; worker < of.blocks.workers(); ++worker) {
      if (worker == of.me) continue;
      std::int64_t leaving = 0;
      each_held(of.blocks, worker, [&](std::int64_t block) { leaving += rows(of.me, block) * row; });
      std::int64_t coming = 0;
      each_held(of.blocks, of.me, [&](std::int64_t block) { coming += rows(worker, block) * row; });
      counts += {of.blocks.extent(), 8 * of.blocks.extent(), 1};  // one exchange
      if (leaving > 0) there += {leaving, 8 * leaving, 1};
      if (coming > 0) back += {coming, 8 * coming, 1};
    }
    const Vector x = random_vector(of.X, 1);
    Counters::instance().reset();
    const RoutedRows routed = of.route();
    EXPECT_EQ(Counters::instance().total(), counts);
    Counters::instance().reset();
    const Vector y = routed.dispatch(x);
    EXPECT_EQ(Counters::instance().total(), there);
    EXPECT_EQ(Counters::instance().by_operation()["RouteRows"], there);
    Counters::instance().reset();
    adjoint(routed.dispatch)(in_dual(y));
    EXPECT_EQ(Counters::instance().total(), back);
    const Traffic expected = routed.dispatch.traffic(of.X.partition().rank());
    EXPECT_EQ(expected.elements, there.elements);
    EXPECT_EQ(expected.messages, there.messages);
  });
}

TEST(RoutedRows, OfKnownCountsCostNoExchange) {
  const at::NoGradGuard no_gradient;
  for_each_case([](const Case& of) {
    RowCounts all;
    for (int worker = 0; worker < of.blocks.workers(); ++worker)
      all.push_back(counts_of(worker, of.blocks.extent()));
    const RoutedRows counted = of.route();
    Counters::instance().reset();
    const RoutedRows known = route_known_rows(of.X, "a", of.blocks, all);
    EXPECT_EQ(Counters::instance().total(), Traffic{});
    EXPECT_EQ(all_row_counts(of.X.partition(), {"a"}, of.counts()), all);
    EXPECT_EQ(known.rows, counted.rows);
    EXPECT_EQ(known.dispatch, counted.dispatch);
  });
}

TEST(RoutedRows, AreRefusedWhereCountsOrSpacesDoNotFit) {
  const Partition world = Partition::world();
  const int p = world.size();
  const Space X = Space(world, {2 * p, 3}).sharded(0, "world");
  const Split blocks = Split::balanced(p, p);
  const auto some = [&](std::int64_t first) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(p), 0);
    counts.front() = first;
    return counts;
  };
  Counters::instance().reset();

  EXPECT_ERROR(route_rows(Space(world, {2 * p, 3}), "world", blocks, some(2)), "route_rows",
               "sharded on dim 0 by axis world alone");
  EXPECT_ERROR(route_rows(X, "world", Split::balanced(p, p + 1), some(2)), "route_rows", "workers");
  EXPECT_ERROR(route_rows(X, "world", blocks, {}), "route_rows", "0 counts", std::to_string(p) + " blocks");
  EXPECT_ERROR(route_rows(X, "world", blocks, some(3)), "route_rows", "3 rows", "has 2");
  if (p > 1) {
    std::vector<std::int64_t> counts = some(3);
    counts.back() = -1;
    EXPECT_ERROR(route_rows(X, "world", blocks, counts), "route_rows", "-1");
  }
  RowCounts all(static_cast<std::size_t>(p), some(2));
  all.back().front() = 3;
  EXPECT_ERROR(route_known_rows(X, "world", blocks, all), "route_rows", "3 rows", "worker has 2");
  EXPECT_ERROR(route_known_rows(X, "world", blocks, RowCounts(static_cast<std::size_t>(p) + 1, some(2))),
               "route_rows", "workers", "all_row_counts");
  EXPECT_ERROR(all_row_counts(world, {"world"}, {-2}), "all_row_counts", "-2");
  EXPECT_EQ(Counters::instance().total(), Traffic{});
}

}  // namespace
}  // namespace riesz::testing
