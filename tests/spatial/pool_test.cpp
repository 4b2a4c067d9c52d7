// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Poolings, up-sampling and padding of vectors that lie in any way, against torch's on global tensors.
#include "riesz/nn/spatial/pool.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "../nn/expect.h"
#include "pool_case.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/pad.h"
#include "riesz/nn/spatial/upsample.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Each way to pool, up-sample or pad, of seeds of its own.
TEST(Pool, IsTorchsInRandomConfigurations) {
  constexpr std::uint64_t kCases = 150;
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_pool(seed);
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

/// torch too names an element that x does not have.
TEST(MaxPool, HasTorchsIndexForAWindowOfPaddingAlone) {
  const PoolWindows windows{.kernel = {2, 1}, .stride = {1}, .padding = {1, 0}, .dilation = {3}};
  const at::Tensor global = draws({2, 3, 2, 7}, 1);
  const auto [values, where] = torch_max(global, windows);
  ASSERT_TRUE(values.isneginf().all().item<bool>());
  for_each_image([&](const Space& X) {
    const Space S = X.with_shape({2, 3, 2, 7});
    MaxPool layer("pool", S, Space(S.partition(), Numbers(4, Space::any)), windows);
    const Vector x = distribute(S, global);
    EXPECT_TRUE(at::equal(meant(layer(x)), values));
    EXPECT_TRUE(means(layer.indices(x), where, 0));
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

/// As torch's of an image that has its padding: padding too may be the first place.
TEST(MaxPool, OfNothingButMinusInfinityGivesTheGradientToTheFirstPlace) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const PoolWindows windows{.kernel = {3}, .stride = {2}, .padding = {1}};
  const at::Tensor padded = at::full({2, 3, 11, 9}, -inf, at::kDouble).requires_grad_(),
                   ybar = draws({2, 3, 5, 4}, 2);
  std::get<0>(torch_max(padded, {.kernel = {3}, .stride = {2}})).backward(ybar);
  const at::Tensor expected = padded.grad().narrow(2, 1, 9).narrow(3, 1, 7);
  EXPECT_FALSE(padded.grad().sum().equal(expected.sum())) << "some of it goes to padding";
  for_each_image([&](const Space& X) {
    MaxPool layer("pool", X, Space(X.partition(), Numbers(4, Space::any)), windows);
    const Vector x = leaf(X, at::full(X.shape(), -inf, at::kDouble));
    Chain chain;
    const Vector y = layer(x);
    EXPECT_TRUE(means(pullback(y, distribute(dual(y.space()), ybar), {x})[0], expected));
  });
}

TEST(AdaptiveMaxPool, GivesTheGradientToTheFirstOfEquals) {
  const at::Tensor global = draws({2, 3, 9, 7}, 1).mul(0).requires_grad_(), ybar = draws({2, 3, 4, 3}, 2);
  std::get<0>(torch_adaptive_max(global, {4, 3})).backward(ybar);
  for_each_image([&](const Space& X) {
    AdaptiveMaxPool layer("pool", X, Space(X.partition(), {2, 3, 4, 3}));
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

TEST(Upsample, ComputesHalfTypesInFp32) {
  const Space X = Space(Partition::world(), {2, 2, 7, 5}).sharded(2, "world");
  const Space Y = Space(Partition::world(), {2, 2, 12, 11}).sharded(3, "world");
  const at::Tensor global = draws(X.shape(), 1).to(at::kBFloat16);
  for (const Sampling by : {Sampling::linear, Sampling::linear_aligned}) {
    Upsample layer("up", X, Y, by);
    const at::Tensor y = meant(layer(distribute(X, global)));
    ASSERT_EQ(y.scalar_type(), at::kBFloat16);
    // rounded once, at the end: half a unit from the exact value, but for roundings of fp32
    const at::Tensor exact = torch_upsample(global.to(at::kDouble), {12, 11}, by);
    EXPECT_TRUE(is_within(y.to(at::kDouble), exact, exact.abs().mul(unit_roundoff(at::kBFloat16)).add(1e-5)));
  }
}

/// Each call plans for the extents of its x.
TEST(Pool, TakesImagesOfAnyExtent) {
  const Partition world = Partition::world();
  const Space any(world, Numbers(4, Space::any)), S = any.sharded(3, "world"), Y = any.sharded(2, "world");
  MaxPool greatest("greatest", S, Y, {.kernel = {3}, .stride = {2}, .padding = {1}});
  AvgPool average("average", S, Y, {.kernel = {2}});
  Pad pad("pad", S, Y, {2, 0}, {1, 3}, PaddingMode::reflect);
  for (const std::int64_t n : {9, 6}) {
    const Space X = S.with_shape({2, 3, n, 7});
    const at::Tensor global = draws(X.shape(), 1);
    const Vector x = distribute(X, global);
    EXPECT_TRUE(means(greatest(x), at::max_pool2d(global, {3, 3}, {2, 2}, {1, 1})));
    EXPECT_TRUE(means(average(x), at::avg_pool2d(global, {2, 2})));
    EXPECT_TRUE(means(pad(x), at::pad(global, {0, 3, 2, 1}, "reflect")));
  }
}

TEST(Pool, RefusesUnitsWhenItIsMade) {
  const Space X = Space(Partition::world(), {2, 3, 8, 8}).unit(2, 2), Y(X.partition(), {2, 3, 4, 4});
  const std::string units = "a windowed dim has units of 2";
  EXPECT_ERROR(MaxPool("pool", X, Y, {.kernel = {2}}), units);
  EXPECT_ERROR(AvgPool("pool", X, Y, {.kernel = {2}}), units);
  EXPECT_ERROR(AdaptiveMaxPool("pool", X, Y), units);
  EXPECT_ERROR(AdaptiveAvgPool("pool", X, Y), units);
  EXPECT_ERROR(Upsample("up", X, Y), units);
  EXPECT_ERROR(Pad("pad", X, Space(X.partition(), {2, 3, 9, 8}), {1, 0}, {0}), units);
}

TEST(Pool, RefusesBadSizesWhenItIsMade) {
  const Partition grid = Partition::world();
  const Space X(grid, {2, 3, 8, 8}), any(grid, Numbers(4, Space::any));
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {3}, .padding = {2}}),
               "MaxPool stem: a padding of 2 in spatial dim 0, with a kernel of 3; it is at most half");
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {9}}), "a window over 9 elements does not fit the 8");
  EXPECT_ERROR(MaxPool("stem", Space(grid, {2, 3, 0, 8}), any, {.kernel = {2}}),
               "spatial dim 0 has no elements");
  EXPECT_EQ(MaxPool("stem", X, any, {.kernel = {9}, .ceil_mode = true}).range()->shape(),
            Numbers({2, 3, 1, 1}));
  EXPECT_ERROR(MaxPool("stem", X, any, {.kernel = {10}, .stride = {2}, .ceil_mode = true}),
               "a window over 10 elements does not fit the 8");
  EXPECT_ERROR(MaxPool("stem", X, Space(grid, {2, 3, 8, 8}), {.kernel = {2}}),
               "dim 2 of the result has 4 elements, but 8 in");
  EXPECT_ERROR(AvgPool("stem", X, any, {.kernel = {2}, .dilation = {2}}), "the windows of a mean have none");
  EXPECT_ERROR(AdaptiveAvgPool("head", X, any), "its spatial dims have a known extent");
  EXPECT_ERROR(AdaptiveMaxPool("head", X, any), "AdaptiveMaxPool head: the result lies in");
  EXPECT_ERROR(Upsample("up", X, any), "its spatial dims have a known extent (resampled(X, factor))");
  EXPECT_ERROR(Pad("pad", X, any, {8}, {0}, PaddingMode::reflect),
               "a padding of 8 by mode reflect, but spatial dim 0 has 8 elements");
  EXPECT_ERROR(Pad("pad", X, any, {9}, {0}, PaddingMode::circular), "a padding of 9 by mode circular");
  EXPECT_ERROR(Pad("pad", X.with_shape({2, 3, 0, 8}), any, {1}, {0}, PaddingMode::replicate),
               "a padding of 1 by mode replicate, but spatial dim 0 has 0 elements");
  EXPECT_ERROR(Pad("pad", X, any, {-1}, {0}), "they are 0 or more");
  EXPECT_ERROR(Pad("pad", X, any, {0}, {-1}), "0 elements before and -1 after");
  EXPECT_ERROR(Upsample("up", X, X.with_shape({2, 3, 0, 8})), "0 outputs of 8 inputs in");
  EXPECT_EQ(resampled(X, 1.7), Space(grid, {2, 3, 13, 13}));
  EXPECT_EQ(resampled(any, 2), any);
}

}  // namespace
}  // namespace riesz::testing
