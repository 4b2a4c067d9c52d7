// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Norms of images that lie in any way, against torch's on global tensors: values, gradients, running moments.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "../nn/expect.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/group_norm.h"
#include "riesz/nn/spatial/instance_norm.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using OnOne = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b)>;

constexpr double kEpsilon = 0.01;  // none of the defaults

const std::vector<std::vector<int>> kDims{{0, 1, 2}, {2, 3, 1}, {1, 0, 3}, {3, -1, 0}};

Space laid(Space S, const std::vector<int>& dims) {
  const std::vector<Axis>& axes = S.partition().axes();
  for (std::size_t i = 0; i < axes.size() && i < dims.size(); ++i)
    if (dims[i] >= 0 && dims[i] < S.dims()) S = S.sharded(dims[i], axes[i].name);
  return S;
}

/// f on every grid, of images of 6 channels in 1 to 3 spatial dims: these and the way in which they lie
/// change from grid to grid, and from `first` on.
void for_each_space(std::size_t first, const std::function<void(const Space&)>& f) {
  std::size_t i = first;
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    std::vector<std::int64_t> shape{3, 6, 5};
    if (i % 3 > 0) shape.push_back(4);
    if (i % 3 > 1) shape.push_back(2);
    f(laid(Space(grid, shape), kDims[i++ % kDims.size()]));
  });
}

template <typename L>
void expect_norm(L& layer, const Space& X, const OnOne& on_one) {
  SCOPED_TRACE(layer.describe() + "\n" + to_string(X));
  std::vector<at::Tensor> globals{draws(X.shape(), 1).mul(3).add(2), draws({6}, 2), draws({6}, 3)};
  for (at::Tensor& each : globals) each.requires_grad_();
  const at::Tensor expected = on_one(globals[0], globals[1], globals[2]), ybar = draws(X.shape(), 4);
  expected.backward(ybar);
  std::vector<Vector> given{leaf(X, globals[0].detach())};
  const std::vector<Parameter> parameters = layer.parameters();
  for (std::size_t i = 0; i < 2; ++i) given.push_back(set(parameters[i], globals[i + 1].detach()));
  Chain chain;
  const Vector y = layer(given[0]);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(X), ybar), given);
  EXPECT_TRUE(means(y, expected.detach()));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(means(gradients[i], globals[i].grad())) << i;
}

TEST(BatchNorm, IsTorchsOnEveryGridAndKeepsTorchsMoments) {
  for_each_space(0, [](const Space& X) {
    BatchNorm layer("norm", X, {.epsilon = kEpsilon, .momentum = 0.3});
    layer.initialise(5, at::kDouble);
    const at::Tensor mean = at::zeros({6}, at::kDouble), variance = at::ones({6}, at::kDouble);
    for (const bool training : {true, true, false}) {
      const ContextScope scope({.training = training});
      expect_norm(layer, X, [&](const auto& x, const auto& w, const auto& b) {
        return at::batch_norm(x, w, b, mean, variance, training, 0.3, kEpsilon, false);
      });
      EXPECT_TRUE(means(layer.parameters()[2].get(), mean));
      EXPECT_TRUE(means(layer.parameters()[3].get(), variance));
    }
  });
}

TEST(BatchNorm, WithoutMomentumKeepsTheMeansOfAllBatches) {
  const at::NoGradGuard no_gradient;
  const Space X = Space(Partition::world(), {4, 3, 5}).sharded(2, "world");
  BatchNorm layer("norm", X, {.momentum = std::nullopt});
  layer.initialise(5, at::kFloat);
  const Parameter batches = layer.parameters()[4];
  EXPECT_EQ(batches.name(), "norm.num_batches_tracked");
  EXPECT_EQ(batches.type(), at::kLong);
  const at::Tensor mean = at::zeros({3}), variance = at::ones({3});
  for (const int batch : {1, 2, 3}) {
    const ContextScope scope({.training = true});
    const at::Tensor global = draws(X.shape(), static_cast<std::uint64_t>(batch)).to(at::kFloat);
    layer(distribute(X, global));
    at::batch_norm(global, {}, {}, mean, variance, true, 1.0 / batch, 1e-5, false);
    EXPECT_TRUE(means(layer.parameters()[2].get(), mean, 1e-6));
    EXPECT_TRUE(means(layer.parameters()[3].get(), variance, 1e-6));
    EXPECT_TRUE(means(batches.get(), at::full({}, batch, at::kLong), 0));
  }
}

/// As near as one rounding a batch lets them: a tenth of what is left is then at most half a unit, 2⁻⁸.
TEST(BatchNorm, InHalfTypesItsMomentsReachWhatTheyMoveTo) {
  const at::NoGradGuard no_gradient;
  const Space X = Space(Partition::world(), {4, 3, 5}).sharded(2, "world");
  BatchNorm layer("norm", X);
  layer.initialise(5, at::kBFloat16);
  const ContextScope scope({.training = true});
  for (int batch = 0; batch < 100; ++batch) layer(distribute(X, at::full(X.shape(), 1.75, at::kBFloat16)));
  EXPECT_GT(layer.parameters()[2].get().local().to(at::kDouble).min().item<double>(),
            1.75 - 10.0 / 256 - 1e-9);
}

/// The running variance after a call and its backward, where the layer may run again.
template <typename L, typename Options>
at::Tensor variance_after(const Options& options, bool again) {
  const Space X = Space(Partition::world(), {4, 3, 5}).sharded(2, "world");
  L layer("norm", X, options);
  layer.initialise(5, at::kDouble);
  if (again) layer.set_recompute(RecomputeOptions{});
  const ContextScope scope({.training = true});
  Chain chain;
  const Vector x = leaf(X, draws(X.shape(), 1));
  const Vector y = layer(x);
  pullback(y, distribute(dual(X), draws(X.shape(), 2)), {x});
  const std::vector<Parameter> all = layer.parameters();
  EXPECT_EQ(all.back().get().local().template item<std::int64_t>(), (std::is_same_v<L, BatchNorm> ? 1 : 0));
  return all[all.size() - 2].get().local();
}

TEST(BatchNorm, MovesItsMomentsOnceWhereItRunsAgain) {
  const BatchNormOptions options;
  EXPECT_TRUE(
      is_close(variance_after<BatchNorm>(options, true), variance_after<BatchNorm>(options, false), 0));
}

TEST(InstanceNorm, MovesItsMomentsOnceWhereItRunsAgain) {
  const InstanceNormOptions options{.running_stats = true};
  EXPECT_TRUE(
      is_close(variance_after<InstanceNorm>(options, true), variance_after<InstanceNorm>(options, false), 0));
}

/// What leaves a worker in an AllReduce of n elements over p workers.
std::int64_t reduced(std::int64_t n, std::int64_t p) { return p == 2 ? n : 2 * (p - 1) * n / p; }

/// Elements that leave this worker in the value, and in backward.
template <typename L>
std::pair<std::int64_t, std::int64_t> sent_by(L& layer, const Space& X) {
  layer.initialise(5, at::kDouble);
  const Vector x = leaf(X, draws(X.shape(), 1));
  Chain chain;
  Counters::instance().reset();
  const Vector y = layer(x);
  const std::int64_t forward = Counters::instance().total().elements;
  Counters::instance().reset();
  pullback(y, distribute(dual(X), draws(X.shape(), 2)), {x});
  return {forward, Counters::instance().total().elements};
}

TEST(BatchNorm, SendsTwoSumsAndThreeBack) {
  const Partition mesh = Partition::world();
  const std::int64_t p = mesh.size(), one = reduced(8 * p, p);
  const Space X(mesh, {2 * p, 8 * p, 4 * p});
  BatchNorm layer("norm", X.sharded(2, "world")), by_batch("norm", X.sharded(0, "world")),
      by_channels("norm", X.sharded(1, "world"));
  {
    const ContextScope scope({.training = true});
    EXPECT_EQ(sent_by(layer, X.sharded(2, "world")), std::pair(2 * one, 3 * one));
    EXPECT_EQ(sent_by(by_batch, X.sharded(0, "world")), std::pair(2 * one, 3 * one));
    EXPECT_EQ(sent_by(by_channels, X.sharded(1, "world")), std::pair(0L, 0L));
  }
  const ContextScope scope({.training = false});
  EXPECT_EQ(sent_by(layer, X.sharded(2, "world")).first, 0);
}

TEST(GroupNorm, SendsAnElementAnImageAndGroup) {
  const Partition mesh = Partition::world();
  const std::int64_t p = mesh.size(), images = 3 * p, groups = 2, channels = 4 * p;
  const std::int64_t moment = reduced(images * groups, p), weight = reduced(channels, p);
  const Space X(mesh, {images, channels, 2 * p});
  const auto sent = [&](int dim) {
    GroupNorm layer("norm", groups, X.sharded(dim, "world"));
    return sent_by(layer, X.sharded(dim, "world"));
  };
  EXPECT_EQ(sent(2), std::pair(2 * moment, 2 * moment + 2 * weight));
  EXPECT_EQ(sent(1), std::pair(2 * moment, 2 * moment));
  EXPECT_EQ(sent(0), std::pair(0L, 2 * weight));
}

TEST(InstanceNorm, SendsAnElementAnImageAndChannel) {
  const Partition mesh = Partition::world();
  const std::int64_t p = mesh.size(), one = reduced(3 * 4 * p, p);
  const Space X(mesh, {3, 4 * p, 2 * p});
  InstanceNorm layer("norm", X.sharded(2, "world")), by_channels("norm", X.sharded(1, "world"));
  EXPECT_EQ(sent_by(layer, X.sharded(2, "world")), std::pair(2 * one, 2 * one));
  EXPECT_EQ(sent_by(by_channels, X.sharded(1, "world")), std::pair(0L, 0L));
}

TEST(GroupNorm, IsTorchsOnEveryGrid) {
  for (const std::int64_t groups : {1, 2, 6}) {
    for_each_space(static_cast<std::size_t>(groups), [groups](const Space& X) {
      GroupNorm layer("norm", groups, X, kEpsilon);
      layer.initialise(5, at::kDouble);
      expect_norm(layer, X, [groups](const auto& x, const auto& w, const auto& b) {
        return at::group_norm(x, groups, w, b, kEpsilon, false);
      });
    });
  }
}

TEST(InstanceNorm, IsTorchsOnEveryGrid) {
  for_each_space(3, [](const Space& X) {
    InstanceNorm layer("norm", X, {.epsilon = kEpsilon, .affine = true});
    layer.initialise(5, at::kDouble);
    expect_norm(layer, X, [](const auto& x, const auto& w, const auto& b) {
      return at::instance_norm(x, w, b, {}, {}, true, 0.1, kEpsilon, false);
    });
  });
}

TEST(InstanceNorm, KeepsTorchsMomentsOnEveryGrid) {
  for_each_space(1, [](const Space& X) {
    InstanceNorm layer("norm", X,
                       {.epsilon = kEpsilon, .momentum = 0.3, .affine = true, .running_stats = true});
    layer.initialise(5, at::kDouble);
    const std::vector<Parameter> all = layer.parameters();
    const at::Tensor mean = at::zeros({6}, at::kDouble), variance = at::ones({6}, at::kDouble);
    for (const bool training : {true, true, false}) {
      const ContextScope scope({.training = training});
      expect_norm(layer, X, [&](const auto& x, const auto& w, const auto& b) {
        return at::instance_norm(x, w, b, mean, variance, training, 0.3, kEpsilon, false);
      });
      EXPECT_TRUE(means(all[2].get(), mean));
      EXPECT_TRUE(means(all[3].get(), variance));
    }
    EXPECT_EQ(all[4].name(), "norm.num_batches_tracked");
    EXPECT_TRUE(means(all[4].get(), at::zeros({}, at::kLong), 0)) << "torch does not count";
  });
}

TEST(GroupNorm, KeepsWhatIsNotFiniteInItsGroup) {
  const at::NoGradGuard no_gradient;
  const Space X = Space(Partition::world(), {2, 6, 8}).sharded(2, "world");
  at::Tensor global = draws(X.shape(), 1);
  global.select(1, 1).fill_(std::numeric_limits<double>::infinity());
  GroupNorm layer("norm", 2, X, 1e-5, false);
  const at::Tensor y = meant(layer(distribute(X, global)));
  EXPECT_TRUE(y.narrow(1, 0, 3).isnan().all().item<bool>());
  EXPECT_TRUE(is_close(y.narrow(1, 3, 3), at::group_norm(global, 2).narrow(1, 3, 3)));
}

TEST(BatchNorm, WithoutRunningMomentsTakesThoseOfItsBatchInEvaluationToo) {
  const at::NoGradGuard no_gradient;
  const Space X = Space(Partition::world(), {4, 3, 5}).sharded(2, "world");
  BatchNorm layer("norm", X, {.affine = false, .running_stats = false});
  EXPECT_TRUE(layer.parameters().empty());
  const at::Tensor global = draws(X.shape(), 1);
  const ContextScope scope({.training = false});
  EXPECT_TRUE(
      means(layer(distribute(X, global)), at::batch_norm(global, {}, {}, {}, {}, true, 0.1, 1e-5, false)));
}

/// y in bf16 is what torch gives in fp64, rounded once, but for roundings of fp32.
template <typename L>
void expect_in_fp32(L& layer, const Space& X, const OnOne& on_one) {
  SCOPED_TRACE(layer.describe());
  const at::Tensor global = draws(X.shape(), 1).add(100).to(at::kBFloat16);
  std::vector<at::Tensor> given{global.to(at::kDouble)};
  const std::vector<Parameter> parameters = layer.parameters();
  for (std::size_t i = 0; i < 2; ++i) {
    const at::Tensor each = draws({6}, 2 + i).to(at::kBFloat16);
    set(parameters[i], each);
    given.push_back(each.to(at::kDouble));
  }
  const at::Tensor expected = on_one(given[0], given[1], given[2]);
  const at::Tensor y = meant(layer(distribute(X, global)));
  ASSERT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(is_within(y, expected, expected.abs().mul(unit_roundoff(at::kBFloat16)).add(1e-3)));
}

TEST(ImageNorm, ComputesHalfTypesInFp32) {
  const at::NoGradGuard no_gradient;
  const Space X = Space(Partition::world(), {4, 6, 64}).sharded(2, "world");
  BatchNorm batch("batch", X);
  GroupNorm group("group", 2, X);
  InstanceNorm instance("instance", X, {.affine = true});
  for (Module* each : std::vector<Module*>{&batch, &group, &instance}) each->initialise(5, at::kBFloat16);
  for (const bool training : {true, false}) {
    const ContextScope scope({.training = training});
    const auto running = [&](std::size_t i) { return meant(batch.parameters()[i].get()).to(at::kDouble); };
    const at::Tensor mean = running(2), variance = running(3);
    expect_in_fp32(batch, X, [&](const auto& x, const auto& w, const auto& b) {
      return at::batch_norm(x, w, b, mean, variance, training, 0.1, 1e-5, false);
    });
  }
  expect_in_fp32(group, X, [](const auto& x, const auto& w, const auto& b) {
    return at::group_norm(x, 2, w, b, 1e-5, false);
  });
  expect_in_fp32(instance, X, [](const auto& x, const auto& w, const auto& b) {
    return at::instance_norm(x, w, b, {}, {}, true, 0.1, 1e-5, false);
  });
}

TEST(BatchNorm, RefusesWhatItCannotNormalise) {
  const Partition world = Partition::world();
  EXPECT_ERROR(BatchNorm("stem", Space(world, {2, Space::any, 4})), "BatchNorm stem: x lies in");
  EXPECT_ERROR(GroupNorm("stem", 4, Space(world, {2, 6, 4})), "GroupNorm stem: 4 groups of 6 channels");
  const Space twice = Space(Partition::simulated(2), {2, 6, 4});
  EXPECT_ERROR(
      GroupNorm("stem", 2,
                twice.sharded(1, twice.partition().axes()[0].name, Split::covering(6, {{{0, 4}}, {{2, 6}}}))),
      "GroupNorm stem over dim 1, whose split overlaps");
  BatchNorm layer("stem", Space(world, {1, 2, 1}));
  layer.initialise(1, at::kDouble);
  const Vector x = leaf(Space(world, {1, 2, 1}), draws({1, 2, 1}, 1));
  EXPECT_ERROR(layer(x), "BatchNorm stem is called in no context");
  const ContextScope scope({.training = true});
  EXPECT_ERROR(layer(x), "BatchNorm stem: a channel has 1 elements");
  InstanceNorm instance("stem", Space(world, {1, 2, 1}));
  EXPECT_ERROR(instance(x), "InstanceNorm stem: a channel of an image has one element");
  InstanceNorm evaluating("stem", Space(world, {1, 2, 1}), {.running_stats = true});
  evaluating.initialise(1, at::kDouble);
  EXPECT_ERROR(evaluating(x), "InstanceNorm stem: a channel of an image has one element");
  BatchNorm none("stem", Space(world, {1, 0, 4}));
  none.initialise(1, at::kDouble);
  EXPECT_ERROR(none(leaf(Space(world, {1, 0, 4}), draws({1, 0, 4}, 1))), "BatchNorm stem: a channel has 0");
  BatchNorm two("stem", Space(world, {2, 2, 1}));
  two.initialise(1, at::kDouble);
  EXPECT_NO_THROW(two(leaf(Space(world, {2, 2, 1}), draws({2, 2, 1}, 1))));
  const ContextScope evaluation({.training = false});
  EXPECT_NO_THROW(evaluating(x));
}

TEST(InstanceNorm, OfNoImagesMovesNoMoments) {
  const at::NoGradGuard no_gradient;
  const Space X(Partition::world(), {0, 2, 4});
  InstanceNorm layer("norm", X, {.running_stats = true});
  layer.initialise(1, at::kDouble);
  const ContextScope scope({.training = true});
  EXPECT_EQ(layer(distribute(X, at::zeros({0, 2, 4}, at::kDouble))).space(), X);
  EXPECT_TRUE(means(layer.parameters()[1].get(), at::ones({2}, at::kDouble), 0));
}

}  // namespace
}  // namespace riesz::testing
