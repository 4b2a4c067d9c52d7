// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "pool_case.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/adaptive_max_pool1d.h>
#include <ATen/ops/adaptive_max_pool2d.h>
#include <ATen/ops/adaptive_max_pool3d.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
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
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "../nn/expect.h"
#include "riesz/nn/spatial/adaptive_pool.h"
#include "riesz/nn/spatial/pad.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

using Numbers = std::vector<std::int64_t>;
using OnOneWorker = std::function<at::Tensor(const at::Tensor&)>;

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

at::Tensor torch_avg(const at::Tensor& x, const PoolWindows& w, bool include) {
  const Numbers& stride = w.stride.empty() ? w.kernel : w.stride;
  if (x.dim() == 3) return at::avg_pool1d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
  if (x.dim() == 4) return at::avg_pool2d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
  return at::avg_pool3d(x, w.kernel, stride, w.padding, w.ceil_mode, include);
}

void expect_a_max_pool(Lying& lying) {
  const PoolWindows windows = random_pool(lying, true);
  const auto [values, where] = torch_max(draws(lying.X.shape(), 1), windows);
  MaxPool layer("pool", lying.X, lying.lay(values.sizes()), windows);
  expect_as(
      layer, lying.X, [&](const at::Tensor& x) { return std::get<0>(torch_max(x, windows)); }, false);
  const Vector given = distribute(lying.X, draws(lying.X.shape(), 1));
  EXPECT_TRUE(means(layer.indices(given), where, 0));
}

void expect_an_avg_pool(Lying& lying) {
  const PoolWindows windows = random_pool(lying, false);
  const bool include = lying.random.any_of(2) == 0;
  const auto on_one = [&](const at::Tensor& x) { return torch_avg(x, windows, include); };
  AvgPool layer("pool", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), windows, {include});
  expect_as(layer, lying.X, on_one);
}

void expect_an_adaptive_avg_pool(Lying& lying) {
  const Numbers sizes = lying.some(1, 7);
  const auto on_one = [&](const at::Tensor& x) {
    return lying.dims == 1   ? at::adaptive_avg_pool1d(x, sizes)
           : lying.dims == 2 ? at::adaptive_avg_pool2d(x, sizes)
                             : at::adaptive_avg_pool3d(x, sizes);
  };
  AdaptiveAvgPool layer("pool", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()));
  expect_as(layer, lying.X, on_one);
}

void expect_an_adaptive_max_pool(Lying& lying) {
  const Numbers sizes = lying.some(1, 7);
  at::Tensor given = draws(lying.X.shape(), 1);
  const auto [values, where] = torch_adaptive_max(given, sizes);
  AdaptiveMaxPool layer("pool", lying.X, lying.lay(values.sizes()));
  expect_as(
      layer, lying.X, [&](const at::Tensor& x) { return std::get<0>(torch_adaptive_max(x, sizes)); }, false);
  EXPECT_TRUE(means(layer.indices(distribute(lying.X, given)), where, 0));
  given = given.mul(2).round();  // many equals
  const at::Tensor first = std::get<1>(torch_adaptive_max(given, sizes));
  EXPECT_TRUE(means(layer.indices(distribute(lying.X, given)), first, 0));
}

void expect_an_upsample(Lying& lying) {
  const auto by = static_cast<Sampling>(lying.random.any_of(3));
  Numbers sizes = lying.some(1, 12);
  // torch rounds n/m to a float, by which it may be one input off; of twice the size it is exact
  if (by == Sampling::nearest)
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = 2 * lying.X.shape()[i + 2];
  const auto on_one = [&](const at::Tensor& x) { return torch_upsample(x, sizes, by); };
  Upsample layer("up", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), by);
  expect_as(layer, lying.X, on_one);
}

void expect_a_pad(Lying& lying) {
  const auto mode = static_cast<PaddingMode>(lying.random.any_of(4));
  const Numbers before = lying.some(0, 3), after = lying.some(0, 3);
  Numbers both;
  for (std::size_t i = before.size(); i-- > 0;) both.push_back(before[i]), both.push_back(after[i]);
  const auto on_one = [&](const at::Tensor& x) {
    return mode == PaddingMode::zeros ? at::pad(x, both, "constant", 2.5) : at::pad(x, both, to_string(mode));
  };
  Pad layer("pad", lying.X, lying.lay(on_one(draws(lying.X.shape(), 1)).sizes()), before, after, mode, 2.5);
  expect_as(layer, lying.X, on_one, mode != PaddingMode::zeros);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> torch_max(const at::Tensor& x, const PoolWindows& w) {
  const Numbers& stride = w.stride.empty() ? w.kernel : w.stride;
  const Numbers dilation(w.kernel.size(), w.dilation[0]);
  if (x.dim() == 3) return at::max_pool1d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
  if (x.dim() == 4) return at::max_pool2d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
  return at::max_pool3d_with_indices(x, w.kernel, stride, w.padding, dilation, w.ceil_mode);
}

std::tuple<at::Tensor, at::Tensor> torch_adaptive_max(const at::Tensor& x, const Numbers& sizes) {
  if (x.dim() == 3) return at::adaptive_max_pool1d(x, sizes);
  if (x.dim() == 4) return at::adaptive_max_pool2d(x, sizes);
  return at::adaptive_max_pool3d(x, sizes);
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

void expect_pool(std::uint64_t seed) {
  Lying lying(seed);
  switch (seed % 6) {
    case 0:
      return expect_a_max_pool(lying);
    case 1:
      return expect_an_avg_pool(lying);
    case 2:
      return expect_an_adaptive_avg_pool(lying);
    case 3:
      return expect_an_adaptive_max_pool(lying);
    case 4:
      return expect_an_upsample(lying);
    default:
      return expect_a_pad(lying);
  }
}

}  // namespace riesz::testing
