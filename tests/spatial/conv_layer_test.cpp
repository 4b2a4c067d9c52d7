// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The layers of convolutions: parameters, biases, extents and errors.
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "../nn/expect.h"
#include "conv_case.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/conv_transpose.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

constexpr char kSpec[] = "bchw,ocrs->bohw", kBack[] = "bohw,ocrs->bchw";

std::vector<std::int64_t> any_space(std::int64_t channels) {
  return {Space::any, channels, Space::any, Space::any};
}

/// S with the grid's axes on these dims.
Space laid(Space S, const std::vector<int>& dims) {
  const std::vector<Axis>& axes = S.partition().axes();
  for (std::size_t i = 0; i < axes.size() && i < dims.size(); ++i) S = S.sharded(dims[i], axes[i].name);
  return S;
}

/// A function of torch's on (x, w, b).
using OnOne = std::function<at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&)>;

template <typename L>
void expect_layer(L& layer, const Space& X, const OnOne& on_one) {
  SCOPED_TRACE(layer.describe() + "\n" + to_string(X));
  layer.initialise(7, at::kDouble);
  const std::vector<Parameter> parameters = layer.parameters();
  ASSERT_EQ(parameters.size(), 2u);
  std::vector<at::Tensor> globals{draws(X.shape(), 1), draws(parameters[0].space().shape(), 2),
                                  draws(parameters[1].space().shape(), 3)};
  for (at::Tensor& each : globals) each.requires_grad_();
  const at::Tensor expected = on_one(globals[0], globals[1], globals[2]);
  const at::Tensor ybar = draws(expected.sizes().vec(), 4);
  expected.backward(ybar);
  const Vector x = leaf(X, globals[0].detach());
  const Vector w = set(parameters[0], globals[1].detach()), b = set(parameters[1], globals[2].detach());
  Chain chain;
  const Vector y = layer(x);
  const std::vector<Vector> gradients = pullback(y, distribute(dual(y.space()), ybar), {x, w, b});
  EXPECT_TRUE(means(y, expected.detach()));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(means(gradients[i], globals[i].grad())) << i;
}

const std::vector<std::vector<int>> kDims{{2, 3, 0}, {1, 2, 3}, {3, 1, 2}, {0, 2, 1}};

TEST(Conv, IsTorchsLayerOnEveryGrid) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    for (std::size_t i = 0; i < kDims.size(); ++i) {
      const Space X = laid(Space(grid, any_space(4)), kDims[i]);
      const Space Y = laid(Space(grid, any_space(6)), kDims[(i + 1) % kDims.size()]);
      const std::int64_t groups = i == 3 ? 2 : 1;
      Conv layer("conv", kSpec, X, Y, {3, 2},
                 {.windows = {.stride = {2, 1}, .padding = {.each = {1, 0}}, .groups = groups}});
      for (const std::int64_t n : {9, 5})
        expect_layer(layer, X.with_shape({3, 4, n, 8}),
                     [groups](const auto& x, const auto& w, const auto& b) {
                       return at::conv2d(x, w, b, {2, 1}, at::IntArrayRef{1, 0}, {1, 1}, groups);
                     });
    }
  });
}

TEST(Conv, HasAsManyOutputsAsInputsWithEvenKernelsToo) {
  const Partition grid = Partition::world();
  for (const std::int64_t kernel : {1, 2, 3, 4, 6}) {
    const Space X = Space(grid, {2, 3, 11}).sharded(2, "world"),
                Y = Space(grid, {2, 5, 11}).sharded(2, "world");
    Conv layer("conv", "bcw,ocs->bow", X, Y, {kernel}, {.windows = {.padding = {.same = true}}});
    expect_layer(layer, X,
                 [](const auto& x, const auto& w, const auto& b) { return at::conv1d(x, w, b, 1, "same"); });
  }
}

TEST(ConvTranspose, IsTorchsLayerOnEveryGrid) {
  for_each_grid(Runtime::size(), [](const Partition& grid) {
    for (std::size_t i = 0; i < kDims.size(); ++i) {
      const Space X = laid(Space(grid, any_space(4)), kDims[i]);
      const Space Y = laid(Space(grid, any_space(6)), kDims[(i + 1) % kDims.size()]);
      const std::int64_t groups = i == 3 ? 2 : 1;
      ConvTranspose layer("up", kBack, X, Y, {3, 2},
                          {.windows = {.stride = {3, 2}, .padding = {.each = {1, 0}}, .groups = groups},
                           .output_padding = {2, 1}});
      for (const std::int64_t n : {5, 4})
        expect_layer(layer, X.with_shape({3, 4, n, 3}),
                     [groups](const auto& x, const auto& w, const auto& b) {
                       return at::conv_transpose2d(x, w, b, {3, 2}, {1, 0}, {2, 1}, groups);
                     });
    }
  });
}

/// Such a weight is used Copied where it is Replicated, as one that Zero keeps.
template <typename L>
void expect_frozen(L& layer, const Space& X) {
  SCOPED_TRACE(layer.describe());
  layer.initialise(7, at::kDouble);
  const at::Tensor ybar = draws(layer.range()->shape(), 2);
  const auto gradient_of_x = [&] {
    const Vector x = leaf(X, draws(X.shape(), 1));
    Chain chain;
    const Vector y = layer(x);
    return meant(pullback(y, distribute(dual(y.space()), ybar), {x})[0]);
  };
  const at::Tensor trained = gradient_of_x();
  layer.parameters()[0].freeze();
  EXPECT_TRUE(is_close(gradient_of_x(), trained));
}

TEST(Conv, TakesAFrozenWeight) {
  const Partition grid = Partition::world();
  for (const int dim : {0, 2}) {
    const Space X = Space(grid, {3, 4, 9, 9}).sharded(dim, "world");
    const auto result = [&](std::int64_t n) { return Space(grid, {3, 6, n, n}).sharded(dim, "world"); };
    Conv conv("conv", kSpec, X, result(7), {3});
    expect_frozen(conv, X);
    ConvTranspose back("up", kBack, X, result(19), {3}, {.windows = {.stride = {2}}, .bias = false});
    EXPECT_EQ(back.parameters().size(), 1u);
    expect_frozen(back, X);
  }
}

/// Torch's first values: uniform, by the number of inputs of an output at most 1/√inputs.
TEST(Conv, BeginsAsTorchs) {
  const Partition grid = Partition::world();
  Conv layer("conv", kSpec, Space(grid, any_space(4)), Space(grid, any_space(6)), {3});
  layer.initialise(7, at::kDouble);
  const at::Tensor w = layer.parameters()[0].get().local();
  EXPECT_LE(w.abs().max().item<double>(), 1.0 / 6);
  EXPECT_GT(w.abs().max().item<double>(), 0.9 / 6);
}

TEST(Conv, StoresItsWeightWithTheChannels) {
  const Partition grid = Partition::world().grid({{"a", Runtime::size()}, {"b", 1}});
  const Space X(grid, {2, 4, 8, 8}), Y(grid, {2, 6, 8, 8});
  const Space W(grid, {6, 4, 3, 3});
  EXPECT_EQ(conv_weight_between(kSpec, X, Y.sharded(1, "a"), {3}), W.sharded(0, "a"));
  EXPECT_EQ(conv_weight_between(kSpec, X.sharded(1, "a"), Y, {3}), W.sharded(1, "a"));
  EXPECT_EQ(conv_weight_between(kSpec, X.sharded(1, "a"), Y.sharded(1, "a"), {3}), W.sharded(0, "a"));
  EXPECT_EQ(conv_weight_between(kSpec, X.sharded(2, "a"), Y.sharded(2, "a"), {3}), W);
  EXPECT_EQ(conv_weight_between(kSpec, X.sharded(1, "a"), Y, {3}, 2), Space(grid, {6, 2, 3, 3}));
  const Space other = Space(Partition::world().grid({{"c", Runtime::size()}}), {2, 4, 8, 8}).sharded(1, "c");
  EXPECT_EQ(conv_weight_between(kSpec, other, Y, {3}), W);
}

/// Where channels lie with copies, weight and bias lie without.
TEST(Conv, StoresEachWeightOnce) {
  const Partition grid = Partition::simulated(2).grid({{"a", 2}});
  const Space X(grid, {2, 4, 8, 8});
  const Space Y = Space(grid, {2, 6, 6, 6}).sharded(1, "a", Split::covering(6, {{{0, 4}}, {{2, 6}}}));
  const Conv layer("conv", kSpec, X, Y, {3});
  EXPECT_EQ(layer.parameters()[0].space(), Space(grid, {6, 4, 3, 3}).sharded(0, "a"));
  EXPECT_EQ(layer.parameters()[1].space(), Space(grid, {6}).sharded(0, "a"));
}

TEST(Conv, RefusesBadSizesWhenItIsMade) {
  const Partition grid = Partition::world();
  const Space X(grid, any_space(4)), Y(grid, any_space(6));
  EXPECT_ERROR(Conv("stem", kSpec, X, Y, {3, 3, 3}), "kernel has 3 numbers for 2 spatial dims");
  EXPECT_ERROR(Conv("stem", kSpec, X, Y, {3}, {.windows = {.groups = 4}}),
               "4 groups of 4 channels in and 6 out; the groups must divide both");
  EXPECT_ERROR(Conv("stem", kSpec, X, Space(grid, {6, 4, 3, 3}), Space(grid, any_space(8))),
               "Conv stem: dim 1 of the result has 6 elements, but 8 in");
  EXPECT_ERROR(Conv("stem", kSpec, Space(grid, {2, 4, 2, 9}), Y, {3}),
               "Conv stem: a window over 3 elements does not fit the 2 of spatial dim 0");
  EXPECT_ERROR(Conv("stem", kSpec, Space(grid, {2, 4, 8, 9}), Space(grid, {2, 6, 8, 9}), {3}),
               "dim 2 of the result has 6 elements, but 8 in");
  EXPECT_ERROR(Conv("stem", kSpec, Space(grid, any_space(Space::any)), Y, {3}), "channels");
  EXPECT_ERROR(ConvTranspose("up", kBack, X, Y, {3}, {.windows = {.stride = {2}}, .output_padding = {2}}),
               "ConvTranspose up: an output padding of 2 in spatial dim 0, with stride 2");
  EXPECT_ERROR(ConvTranspose("up", kBack, X, Y, {3}, {.output_padding = {-1}}), "an output padding of -1");
  const Space units = Space(grid, {2, 4, 8, 8}).unit(2, 2);
  EXPECT_ERROR(Conv("stem", kSpec, units, Y, {3}), "a windowed dim has units of 2");
  EXPECT_ERROR(ConvTranspose("up", kBack, units, Y, {3}), "a windowed dim has units of");
  EXPECT_NO_THROW(Conv("point", kSpec, units, Space(grid, {2, 6, 8, 8}).unit(2, 2), {1}));
  EXPECT_ERROR(ConvTranspose("up", kBack, X, Y, {3}, {.windows = {.padding = {.same = true}}}),
               "a transposed convolution is padded with zeros, by numbers");
  EXPECT_ERROR(ConvTranspose("up", kBack, Space(grid, {2, 4, 5, 5}), Space(grid, {2, 6, 9, 9}), {2},
                             {.windows = {.stride = {2}}}),
               "spatial dim 0 has 5 elements in x, so 10 in the result, but 9 in");
}

}  // namespace
}  // namespace riesz::testing
