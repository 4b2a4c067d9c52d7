// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Poolings, up-sampling and padding of vectors that lie in any way, against torch's on global tensors.
#include "riesz/nn/spatial/pool.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "../nn/expect.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/resample.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;
using OnOneWorker = std::function<at::Tensor(const at::Tensor&)>;

constexpr std::uint64_t kCases = 40;

/// x's space, and where y lies, on a grid of some workers; by a seed.
struct Lying {
  explicit Lying(std::uint64_t seed)
      : random(seed), dims(1 + random.any_of(3)), grid(random.grid(some_workers(random))) {
    Numbers shape{1 + random.any_of(3), 1 + random.any_of(4)};
    for (int i = 0; i < dims; ++i) shape.push_back(4 + random.any_of(dims == 1 ? 14 : 6));
    X = random.lay_out(Space(grid, shape), kinds, true);
  }
  Numbers some(int least, int most) {
    Numbers all;
    for (int i = 0; i < dims; ++i) all.push_back(least + random.any_of(most - least + 1));
    return all;
  }
  /// A space of y's shape.
  Space lay(at::IntArrayRef shape) { return random.lay_out(Space(grid, shape.vec()), kinds, true); }
  Space of_any() const { return {grid, Numbers(static_cast<std::size_t>(dims + 2), Space::any)}; }

  RandomSpaces random;
  int dims;
  Partition grid;
  std::vector<Placement> kinds{Placement::Replicated, Placement::Copied, Placement::Partial};
  Space X{grid, {}};
};

/// The layer's value and gradient are torch's; if it is `linear` also ⟨A x, ȳ⟩ = ⟨x, A* ȳ⟩.
template <typename L>
void expect_as(L& layer, const Space& X, const OnOneWorker& on_one, bool linear = true) {
  SCOPED_TRACE(layer.describe() + "\nfrom " + to_string(X) + "\nto " + to_string(*layer.range()));
  const at::Tensor global = draws(X.shape(), 1).requires_grad_();
  const at::Tensor expected = on_one(global), ybar = draws(expected.sizes().vec(), 2);
  expected.backward(ybar);
  const Vector x = leaf(X, global.detach());
  Chain chain;
  const Vector y = layer(x);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(y.space()), ybar), {x});
  EXPECT_TRUE(means(y, expected.detach()));
  EXPECT_TRUE(means(gradients[0], global.grad()));
  if (!linear) return;
  const at::NoGradGuard no_gradient;
  const double one = pairing(Vector(y.space(), y.local().detach()), distribute(dual(y.space()), ybar));
  const double other = pairing(Vector(X, x.local().detach()), gradients[0]);
  EXPECT_LE(std::abs(one - other), 1e-12 * static_cast<double>(X.numel() + ybar.numel()));
}

PoolWindows random_pool(Lying& lying, bool dilated) {
  PoolWindows windows{lying.some(1, 4), {}, {}, {1}, lying.random.any_of(2) == 0};
  if (lying.random.any_of(3) > 0) windows.stride = lying.some(1, 4);
  for (const std::int64_t k : windows.kernel)
    windows.padding.push_back(lying.random.any_of(static_cast<int>(k / 2) + 1));
  if (dilated && lying.random.any_of(3) == 0) {
    windows.dilation = {2};
    for (std::int64_t& k : windows.kernel) k = std::min<std::int64_t>(k, 2);
    for (std::size_t i = 0; i < windows.kernel.size(); ++i)
      windows.padding[i] = std::min(windows.padding[i], windows.kernel[i] / 2);
  }
  return windows;
}

std::tuple<at::Tensor, at::Tensor> torch_max(const at::Tensor& x, const PoolWindows& w) {
  const Numbers& stride = w.stride.empty() ? w.kernel : w.stride;
  const Numbers dilation(w.kernel.size(), w.dilation[0]);
  if (x.dim() == 3) return at::max_pool1d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
  if (x.dim() == 4) return at::max_pool2d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
  return at::max_pool3d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
}

at::Tensor torch_avg(const at::Tensor& x, const PoolWindows& w, bool include) {
  const Numbers& stride = w.stride.empty() ? w.kernel : w.stride;
  if (x.dim() == 3) return at::avg_pool1d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
  if (x.dim() == 4) return at::avg_pool2d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
  return at::avg_pool3d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
}

TEST(MaxPool, IsTorchsInRandomConfigurations) {
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Lying lying(seed);
    const PoolWindows windows = random_pool(lying, true);
    const auto [values, where] = torch_max(draws(lying.X.shape(), 1), windows);
    MaxPool layer("pool", lying.X, lying.lay(values.sizes()), windows);
    expect_as(
        layer, lying.X, [&](const at::Tensor& x) { return std::get<0>(torch_max(x, windows)); }, false);
    const Vector given = distribute(lying.X, draws(lying.X.shape(), 1));
    EXPECT_TRUE(means(layer.indices(given), where, 0));
  }
}

TEST(AvgPool, IsTorchsInRandomConfigurations) {
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Lying lying(seed);
    const PoolWindows windows = random_pool(lying, false);
    const bool include = lying.random.any_of(2) == 0;
    const auto on_one = [&](const at::Tensor& x) { return torch_avg(x, windows, include); };
    AvgPool layer("pool", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), windows, {include});
    expect_as(layer, lying.X, on_one);
  }
}

TEST(AdaptiveAvgPool, IsTorchsInRandomConfigurations) {
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Lying lying(seed);
    const Numbers sizes = lying.some(1, 7);
    const auto on_one = [&](const at::Tensor& x) {
      return lying.dims == 1   ? at::adaptive_avg_pool1d(x, sizes)
             : lying.dims == 2 ? at::adaptive_avg_pool2d(x, sizes)
                               : at::adaptive_avg_pool3d(x, sizes);
    };
    AdaptiveAvgPool layer("pool", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()));
    expect_as(layer, lying.X, on_one);
  }
}

at::Tensor torch_upsample(const at::Tensor& x, const Numbers& sizes, Sampling by) {
  const bool corners = by == Sampling::linear_aligned;
  if (by == Sampling::nearest)
    return x.dim() == 3   ? at::upsample_nearest1d(x, sizes)
           : x.dim() == 4 ? at::upsample_nearest2d(x, sizes)
                          : at::upsample_nearest3d(x, sizes);
  return x.dim() == 3   ? at::upsample_linear1d(x, sizes, corners)
         : x.dim() == 4 ? at::upsample_bilinear2d(x, sizes, corners)
                        : at::upsample_trilinear3d(x, sizes, corners);
}

TEST(Upsample, IsTorchsInRandomConfigurations) {
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Lying lying(seed);
    const auto by = static_cast<Sampling>(lying.random.any_of(3));
    Numbers sizes = lying.some(1, 12);
    // torch rounds n/m to a float, by which it may be one input off; of twice the size it is exact
    if (by == Sampling::nearest)
      for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = 2 * lying.X.shape()[i + 2];
    const auto on_one = [&](const at::Tensor& x) { return torch_upsample(x, sizes, by); };
    Upsample layer("up", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), by);
    expect_as(layer, lying.X, on_one);
  }
}

TEST(Pad, IsTorchsInRandomConfigurations) {
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Lying lying(seed);
    const auto mode = static_cast<PaddingMode>(lying.random.any_of(4));
    const Numbers before = lying.some(0, 3), after = lying.some(0, 3);
    Numbers both;
    for (std::size_t i = before.size(); i-- > 0;) both.push_back(before[i]), both.push_back(after[i]);
    const auto on_one = [&](const at::Tensor& x) {
      return mode == PaddingMode::zeros ? at::pad(x, both, "constant", 2.5)
                                        : at::pad(x, both, to_string(mode));
    };
    Pad layer("pad", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), before, after, mode, 2.5);
    expect_as(layer, lying.X, on_one, mode != PaddingMode::zeros);
  }
}

/// Images of which each axis shards one dim, on every grid.
void for_each_image(const std::function<void(const Space&)>& f) {
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    Space X(grid, {2, 3, 9, 7});
    constexpr int dims[] = {2, 3, 0};
    for (std::size_t i = 0; i < grid.axes().size(); ++i) X = X.sharded(dims[i], grid.axes()[i].name);
    f(X);
  });
}

TEST(MaxPool, TakesTheFirstOfEqualsAndWhatIsNotFiniteAsTorch) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  const PoolWindows windows{.kernel = {3}, .stride = {2}, .padding = {1}},
      apart{.kernel = {2, 3}, .stride = {1}, .padding = {1}, .dilation = {3}};
  at::Tensor few = draws({2, 3, 9, 7}, 1).mul(2).round();  // many equals
  few.select(2, 4).fill_(-inf), few.select(3, 0).fill_(-inf);
  at::Tensor none = few.clone().masked_fill(draws({2, 3, 9, 7}, 2).gt(1.5), nan);
  for_each_image([&](const Space& X) {
    for (const at::Tensor& given :
         {at::zeros(X.shape(), at::kDouble), few, at::full(X.shape(), -inf, at::kDouble), none}) {
      for (const PoolWindows& by : {windows, apart}) {
        const auto [values, where] = torch_max(given, by);
        MaxPool layer("pool", X, Space(X.partition(), values.sizes().vec()), by);
        EXPECT_TRUE(means(layer.indices(distribute(X, given)), where, 0));
        EXPECT_TRUE(at::equal(meant(layer(distribute(X, given))).nan_to_num(), values.nan_to_num()));
      }
    }
  });
}

TEST(MaxPool, GivesTheGradientToTheFirstOfEquals) {
  const PoolWindows windows{.kernel = {3}, .stride = {2}, .padding = {1}};
  const at::Tensor global = draws({2, 3, 9, 7}, 1).mul(0).requires_grad_(), ybar = draws({2, 3, 5, 4}, 2);
  std::get<0>(torch_max(global, windows)).backward(ybar);
  for_each_image([&](const Space& X) {
    MaxPool layer("pool", X, Space(X.partition(), Numbers(4, Space::any)), windows);
    const Vector x = leaf(X, global.detach());
    Chain chain;
    const Vector y = layer(x);
    EXPECT_TRUE(means(pullback(y, distribute(dual(y.space()), ybar), {x})[0], global.grad()));
  });
}

TEST(AdaptiveAvgPool, KeepsWhatIsNotFiniteInItsWindow) {
  at::Tensor global = draws({2, 3, 9, 7}, 1);
  global.select(2, 4).select(2, 3).fill_(std::numeric_limits<double>::infinity());
  const at::Tensor expected = at::adaptive_avg_pool2d(global, {4, 5});
  for_each_image([&](const Space& X) {
    AdaptiveAvgPool layer("pool", X, Space(X.partition(), {2, 3, 4, 5}));
    const at::Tensor y = meant(layer(distribute(X, global)));
    EXPECT_TRUE(at::equal(y.isinf(), expected.isinf()));
    EXPECT_TRUE(is_close(y.masked_fill(y.isinf(), 0), expected.masked_fill(expected.isinf(), 0)));
  });
}

TEST(AvgPool, AddsHalfTypesInFp32) {
  const Space X = Space(Partition::world(), {1, 2, 16}).sharded(2, "world");
  const at::Tensor global = at::full(X.shape(), 3e4, at::kHalf);  // two of them are no fp16
  AvgPool layer("pool", X, Space(X.partition(), Numbers(3, Space::any)), {.kernel = {4}});
  AdaptiveAvgPool adaptive("pool", X, Space(X.partition(), {1, 2, 5}));
  EXPECT_TRUE(meant(layer(distribute(X, global))).eq(3e4).all().item<bool>());
  EXPECT_TRUE(meant(adaptive(distribute(X, global))).eq(3e4).all().item<bool>());
}

TEST(Pool, RefusesBadSizesWhenItIsMade) {
  const Partition grid = Partition::world();
  const Space X(grid, {2, 3, 8, 8}), any(grid, Numbers(4, Space::any));
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {3}, .padding = {2}}),
               "MaxPool stem: a padding of 2 in dim 0 of space, with a kernel of 3; it is at most half");
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {9}}), "a window over 9 elements does not fit the 8");
  EXPECT_ERROR(MaxPool("stem", Space(grid, {2, 3, 0, 8}), any, {.kernel = {2}}),
               "dim 0 of space has no elements");
  EXPECT_EQ(MaxPool("stem", X, any, {.kernel = {9}, .ceil_mode = true}).range()->shape(),
            Numbers({2, 3, 1, 1}));
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {10}, .stride = {2}, .ceil_mode = true}),
               "a window over 10 elements does not fit the 8");
  EXPECT_ERROR(MaxPool("stem", X, Space(grid, {2, 3, 8, 8}), {.kernel = {2}}),
               "dim 2 of the result has 4 elements, but 8 in");
  EXPECT_ERROR(AvgPool("stem", X, any, {.kernel = {2}, .dilation = {2}}), "the windows of a mean have none");
  EXPECT_ERROR(AdaptiveAvgPool("head", X, any), "its dims of space have a known extent");
  EXPECT_ERROR(Upsample("up", X, any), "its dims of space have a known extent (enlarged(X, factor))");
  EXPECT_ERROR(Pad("pad", X, any, {8}, {0}, PaddingMode::reflect),
               "a padding of 8 by mode reflect, but dim 0 of space has 8 elements");
  EXPECT_ERROR(Pad("pad", X, any, {-1}, {0}), "they are 0 or more");
  EXPECT_EQ(enlarged(X, 2), Space(grid, {2, 3, 16, 16}));
}

}  // namespace
}  // namespace riesz::testing
