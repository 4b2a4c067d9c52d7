// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What poolings, up-sampling and padding send: what the geometry of their windows needs, and no more.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "../nn/expect.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/pad.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/pool_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/spatial/upsample.h"
#include "riesz/partition/window.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/grids.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

/// This worker sends rows of `own` that others need, and the gradients of others' rows that it needs.
/// Rows of 30 elements lie on the axis sp in x, and rows of y.
template <typename L>
void expect_halo(const char* what, std::int64_t n, std::int64_t m,
                 const std::function<Intervals(Interval)>& need, const L& make) {
  SCOPED_TRACE(what);
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const int p = mesh.size(), rank = mesh.rank();
  const Split own = Split::balanced(n, p), out = Split::balanced(m, p);
  const auto moved = [&](int from, int to) {
    std::int64_t rows = 0;
    if (from != to && out[to].size() > 0)
      for (const Interval& each : need(out[to])) rows += intersect(own[from], each).size();
    return Traffic{2 * 3 * 5 * rows, 0, rows > 0};
  };
  Traffic forward, backward;
  for (int q = 0; q < p; ++q) forward += moved(rank, q), backward += moved(q, rank);
  const Space X = Space(mesh, {2, 3, n, 5}).sharded(2, "sp");
  auto layer = make(X, [&](std::int64_t width) { return Space(mesh, {2, 3, m, width}).sharded(2, "sp"); });
  const Vector x = leaf(X, draws(X.shape(), 1));
  Chain chain;
  const auto sent = [] {
    const Traffic all = Counters::instance().total();
    Counters::instance().reset();
    return Traffic{all.elements, 0, all.messages};
  };
  sent();
  const Vector y = layer(x);
  EXPECT_EQ(sent(), forward);
  pullback(y, Vector(dual(y.space()), y.local().detach()), {x});
  EXPECT_EQ(sent(), backward);
}

TEST(Pool, SendsTheHaloThatItsGeometryNeeds) {
  for (const auto& [n, kernel, stride, padding] : std::vector<std::array<std::int64_t, 4>>{
           {16, 3, 1, 1}, {17, 5, 2, 2}, {19, 2, 3, 0}, {9, 7, 1, 3}, {24, 3, 3, 0}, {8, 8, 1, 4}}) {
    const PoolWindows windows{.kernel = {kernel, 1}, .stride = {stride, 1}, .padding = {padding, 0}};
    const auto need = [&, n = n, kernel = kernel, stride = stride, padding = padding](Interval out) {
      return Intervals{
          intersect({0, n}, {stride * out.begin - padding, stride * (out.end - 1) - padding + kernel})};
    };
    const std::int64_t m = (n + 2 * padding - kernel) / stride + 1;
    expect_halo("max", n, m, need,
                [&](const Space& X, const auto& Y) { return MaxPool("p", X, Y(5), windows); });
    expect_halo("mean", n, m, need,
                [&](const Space& X, const auto& Y) { return AvgPool("p", X, Y(5), windows); });
  }
  const auto fitted = [](Interval out) { return Intervals{{out.begin * 17 / 7, (out.end * 17 + 6) / 7}}; };
  expect_halo("adaptive", 17, 7, fitted,
              [](const Space& X, const auto& Y) { return AdaptiveAvgPool("p", X, Y(3)); });
}

TEST(Resample, SendsTheHaloThatItsGeometryNeeds) {
  const auto linear = [](Interval out) {
    const auto first = [](std::int64_t j) { return std::max<std::int64_t>(0, ((2 * j + 1) * 9 - 20) / 40); };
    return Intervals{{first(out.begin), std::min<std::int64_t>(9, first(out.end - 1) + 2)}};
  };
  expect_halo("linear", 9, 20, linear,
              [](const Space& X, const auto& Y) { return Upsample("u", X, Y(5), Sampling::linear); });
  const auto nearest = [](Interval out) {
    return Intervals{{out.begin * 9 / 20, (out.end - 1) * 9 / 20 + 1}};
  };
  expect_halo("nearest", 9, 20, nearest,
              [](const Space& X, const auto& Y) { return Upsample("u", X, Y(5)); });
  const auto padded = [](Interval out) { return Intervals{intersect({0, 9}, {out.begin - 4, out.end - 4})}; };
  expect_halo("zeros", 9, 16, padded, [](const Space& X, const auto& Y) {
    return Pad("p", X, Y(5), {4, 0}, {3, 0});
  });
  const auto around = [](Interval out) { return united(periodic(9, {out.begin - 4, out.end - 4})); };
  expect_halo("circular", 9, 16, around, [](const Space& X, const auto& Y) {
    return Pad("p", X, Y(5), {4, 0}, {3, 0}, PaddingMode::circular);
  });
}

TEST(Pool, ReadsByAnOperatorWithItsAdjoint) {
  const auto read = [](const Space& X, const PoolWindows& by) {
    const detail::PoolGeometry geometry = detail::pool_geometry("pool", X, by);
    const Space Y = detail::bound("pool", X, X.with_shape(Numbers(4, Space::any)), geometry.outputs);
    return detail::windowed_function("pool", X, Y, geometry.dims, {}).reads()[0];
  };
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    Space X(grid, {2, 3, 9, 7});
    constexpr int dims[] = {2, 3, 0};
    for (std::size_t i = 0; i < grid.axes().size(); ++i) X = X.sharded(dims[i], grid.axes()[i].name);
    EXPECT_ADJOINT(read(X, {.kernel = {5, 4}, .stride = {1}, .padding = {2}}));  // wider than a shard
    EXPECT_ADJOINT(read(X, {.kernel = {2}, .stride = {3}}));                     // with inputs of no use
  });
}

TEST(MaxPool, SendsNothingWhereWindowsAreOfOneWorker) {
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const Space any(mesh, Numbers(4, Space::any));
  const Space by_rows = Space(mesh, {2, 3, 4 * Runtime::size(), 6}).sharded(2, "sp");
  const Space by_units = Space(mesh, {2, 2 * Runtime::size() + 2, 4, 6}).unit(1, 2).sharded(1, "sp");
  for (const auto& [X, Y] : {std::pair(by_rows, any.sharded(2, "sp")),
                             std::pair(by_units, by_units.with_shape({2, 2 * Runtime::size() + 2, 2, 3}))}) {
    MaxPool layer("pool", X, Y, {.kernel = {2}});
    const Vector x = leaf(X, draws(X.shape(), 1));
    Chain chain;
    Counters::instance().reset();
    const Vector y = layer(x);
    pullback(y, Vector(dual(y.space()), y.local().detach()), {x});
    EXPECT_EQ(Counters::instance().total(), Traffic{}) << to_string(X);
  }
}

}  // namespace
}  // namespace riesz::testing
