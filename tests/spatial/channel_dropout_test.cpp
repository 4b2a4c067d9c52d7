// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/channel_dropout.h"

#include <gtest/gtest.h>

#include "../nn/expect.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

at::Tensor dropped_on(const Space& X, const at::Tensor& x) {
  const ContextScope scope({.training = true, .seed = 3, .step = 2});
  ChannelDropout layer("drop", 0.4);
  return meant(layer(distribute(X, x)));
}

TEST(ChannelDropout, DropsTheSameWholeChannelsAtEveryLayout) {
  const at::Tensor x = draws({5, 7, 4, 3}, 1);
  const at::Tensor alone = dropped_on(Space(Partition::simulated(1), {5, 7, 4, 3}), x);
  const at::Tensor factors = alone.div(x);
  EXPECT_TRUE(
      is_close(factors, factors.select(2, 0).select(2, 0).view({5, 7, 1, 1}).expand({5, 7, 4, 3}), 1e-14));
  const double kept = factors.gt(0).to(at::kDouble).mean().item<double>();
  EXPECT_GT(kept, 0.3);
  EXPECT_LT(kept, 0.9);
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for (int first = 0; first < 4; ++first) {
      Space X(grid, {5, 7, 4, 3});
      for (std::size_t i = 0; i < grid.axes().size(); ++i)
        X = X.sharded((first + static_cast<int>(i)) % 4, grid.axes()[i].name);
      EXPECT_SAME_BITS(dropped_on(X, x), alone);
    }
  });
}

TEST(ChannelDropout, RefusesTermsAndWhatHasNoChannels) {
  const ContextScope scope({.training = true, .seed = 3, .step = 2});
  ChannelDropout layer("drop", 0.4);
  const Space X = Space(Partition::world(), {2, 3, 4}).partial("world"), few(Partition::world(), {2});
  EXPECT_ERROR(layer(distribute(X, draws({2, 3, 4}, 1))), "ChannelDropout drop", "Partial");
  EXPECT_ERROR(layer(distribute(few, draws({2}, 1))), "ChannelDropout drop: x lies in",
               "a batch and channels");
}

TEST(ChannelDropout, IsNothingOutsideTraining) {
  const Space X(Partition::world(), {2, 3, 4});
  const at::Tensor x = draws({2, 3, 4}, 1);
  const ContextScope scope({.training = false});
  ChannelDropout layer("drop", 0.4);
  EXPECT_SAME_BITS(meant(layer(distribute(X, x))), x);
}

}  // namespace
}  // namespace riesz::testing
