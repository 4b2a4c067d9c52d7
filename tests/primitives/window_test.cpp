// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Convolutions, poolings and up-samplings on halos are those of one worker, for any split of inputs and
// outputs.
#include "riesz/partition/window.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_linear1d.h>
#include <ATen/ops/upsample_nearest1d.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "random_spaces.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/grids.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/print.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

/// A window along one dim, and who computes which of its outputs.
struct Slide {
  int dim;
  std::string axis;
  Window window;
  Split outputs;
};

Slide random_slide(RandomSpaces& random, int dim, const Axis& axis, std::int64_t n) {
  Window window{1 + random.any_of(4), 1 + random.any_of(4), 1 + random.any_of(2), random.any_of(4),
                random.any_of(4)};
  while (output_extent(window, n) == 0) ++window.padding_after;
  const std::int64_t m = output_extent(window, n);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(axis.extent), 0);
  for (std::int64_t j = 0; j < m; ++j) ++sizes[static_cast<std::size_t>(random.any_of(axis.extent))];
  return {dim, axis.name, window,
          random.any_of(3) == 0 ? Split::balanced(m, axis.extent) : Split::sizes(sizes)};
}

std::int64_t extent_of(const Space& X, int dim) { return X.shape()[static_cast<std::size_t>(dim)]; }

Space covered(const Space& X, const std::vector<Slide>& slides) {
  Space Y = X;
  for (const Slide& slide : slides) {
    std::vector<Intervals> needs;
    for (int worker = 0; worker < slide.outputs.workers(); ++worker) {
      needs.push_back({needed(slide.window, extent_of(X, slide.dim), slide.outputs[worker]).inputs});
    }
    Y = covering(Y, slide.dim, needs);
  }
  return Y;
}

/// What the local windows run over: the needs, which come first, between the local padding.
at::Tensor padded(const Vector& x, const std::vector<Slide>& slides, double value) {
  const Space& X = x.space();
  at::Tensor local = x.local();
  std::vector<std::int64_t> padding(static_cast<std::size_t>(2 * X.dims()), 0);
  for (const Slide& slide : slides) {
    const int coordinate = X.partition().coordinate(X.partition().rank(), X.partition().index(slide.axis));
    const Need need = needed(slide.window, extent_of(X, slide.dim), slide.outputs[coordinate]);
    local = local.narrow(slide.dim, 0, need.inputs.size());
    padding[static_cast<std::size_t>(2 * (X.dims() - 1 - slide.dim))] = need.padding_before;
    padding[static_cast<std::size_t>(2 * (X.dims() - 1 - slide.dim) + 1)] = need.padding_after;
  }
  return at::constant_pad_nd(local, padding, value);
}

at::Tensor padded_whole(at::Tensor x, const std::vector<Slide>& slides, double value) {
  std::vector<std::int64_t> padding(static_cast<std::size_t>(2 * x.dim()), 0);
  for (const Slide& slide : slides) {
    padding[static_cast<std::size_t>(2 * (x.dim() - 1 - slide.dim))] = slide.window.padding_before;
    padding[static_cast<std::size_t>(2 * (x.dim() - 1 - slide.dim) + 1)] = slide.window.padding_after;
  }
  return at::constant_pad_nd(x, padding, value);
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& w, const std::vector<Slide>& slides) {
  std::vector<std::int64_t> strides, dilations;
  for (const Slide& slide : slides) {
    strides.push_back(slide.window.stride);
    dilations.push_back(slide.window.dilation);
  }
  const std::vector<std::int64_t> none(slides.size(), 0);
  return slides.size() == 1 ? at::conv1d(x, w, {}, strides, none, dilations)
                            : at::conv2d(x, w, {}, strides, none, dilations);
}

at::Tensor random_tensor(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  return random_part(Space(Partition::simulated(1), shape), 0, seed, true);
}

void expect_near(const at::Tensor& a, const at::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const double scale = b.numel() == 0 ? 1 : 1 + b.abs().max().item<double>();
  const double off = a.numel() == 0 ? 0 : a.sub(b).abs().max().item<double>();
  EXPECT_LE(off, 1e-12 * scale) << text_of(a) << "\nis not " << text_of(b);
}

/// Inputs with one or two dims for windows, after a batch and channels.
struct Case {
  Space X;
  Space Y;  // of the outputs
  std::vector<Slide> slides;
};

Case random_case(RandomSpaces& random, const Partition& grid, int channels, int outputs) {
  std::vector<std::int64_t> shape{2, channels};
  std::vector<std::int64_t> result{2, outputs};
  std::vector<Slide> slides;
  std::vector<Split> splits;
  for (const Axis& axis : grid.axes()) {
    shape.push_back(1 + random.any_of(14));
    splits.push_back(random.split(shape.back(), axis.extent));
    slides.push_back(random_slide(random, static_cast<int>(shape.size()) - 1, axis, shape.back()));
    result.push_back(output_extent(slides.back().window, shape.back()));
  }
  Case made{Space(grid, shape), Space(grid, result), slides};
  for (std::size_t i = 0; i < slides.size(); ++i) {
    made.X = made.X.sharded(slides[i].dim, slides[i].axis, splits[i]);
    made.Y = made.Y.sharded(slides[i].dim, slides[i].axis, slides[i].outputs);
  }
  return made;
}

void expect_convolution_of_one_worker(RandomSpaces& random, const Partition& grid, std::uint64_t seed) {
  const Case c = random_case(random, grid, 2, 3);
  std::vector<std::int64_t> kernel{3, 2};
  for (const Slide& slide : c.slides) kernel.push_back(slide.window.kernel);
  const at::Tensor w = random_tensor(kernel, seed);
  const at::Tensor whole = random_tensor(c.X.shape(), seed + 1).requires_grad_();
  const at::Tensor whole_bar = random_tensor(c.Y.shape(), seed + 2);
  const at::Tensor expected = convolution(padded_whole(whole, c.slides, 0), w, c.slides);
  const at::Tensor expected_bar = torch::autograd::grad({expected}, {whole}, {whole_bar}).front();
  ASSERT_EQ(expected.sizes(), at::IntArrayRef(c.Y.shape()));

  Chain chain;
  const Operator halo = between(c.X, covered(c.X, c.slides));
  SCOPED_TRACE("from " + to_string(halo.domain()) + "\n  to " + to_string(halo.range()) + "\n  for " +
               to_string(c.Y));
  const Vector x(c.X, distribute(c.X, whole.detach()).local().clone().requires_grad_());
  const Vector near = halo(x);
  const bool idle = at::zeros(c.Y.local_shape()).numel() == 0;
  const at::Tensor y = idle ? at::zeros(c.Y.local_shape(), whole.options().requires_grad(false))
                            : convolution(padded(near, c.slides, 0), w, c.slides);
  expect_near(y.detach(), distribute(c.Y, expected.detach()).local());

  const Vector xbar = pullback(Vector(c.Y, y), distribute(dual(c.Y), whole_bar), {x}).front();
  expect_near(xbar.local(), distribute(dual(c.X), expected_bar).local());
}

TEST(Halo, GivesTheConvolutionOfOneWorkerInOneDim) {
  RandomSpaces random(11);
  for (std::uint64_t i = 0; i < 250; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_convolution_of_one_worker(random, Partition::world().grid({{"a", Partition::world().size()}}), i);
  }
}

TEST(Halo, GivesTheConvolutionOfOneWorkerInTwoDims) {
  RandomSpaces random(12);
  const int p = Partition::world().size();
  for (int a = 1; a <= p; ++a) {
    if (p % a != 0) continue;
    for (std::uint64_t i = 0; i < 60; ++i) {
      SCOPED_TRACE("case " + std::to_string(i));
      expect_convolution_of_one_worker(random, Partition::world().grid({{"a", a}, {"b", p / a}}), i);
    }
  }
}

TEST(Halo, GivesTheMaxPoolingOfOneWorker) {
  const at::NoGradGuard guard;
  RandomSpaces random(13);
  const double lowest = -std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Case c = random_case(random, Partition::world().grid({{"a", Partition::world().size()}}), 3, 3);
    const Slide& slide = c.slides.front();
    const auto pooled = [&](const at::Tensor& x) {
      return at::max_pool1d(x, slide.window.kernel, slide.window.stride, 0, slide.window.dilation);
    };
    const at::Tensor whole = random_tensor(c.X.shape(), i);
    const at::Tensor expected = pooled(padded_whole(whole, c.slides, lowest));

    const Vector near = between(c.X, covered(c.X, c.slides))(distribute(c.X, whole));

    if (c.Y.local_shape()[2] == 0) continue;
    EXPECT_SAME_BITS(pooled(padded(near, c.slides, lowest)), distribute(c.Y, expected).local());
  }
}

/// Σ over the two inputs of each output, from what a worker holds.
at::Tensor linear(const at::Tensor& held, std::int64_t n, std::int64_t m, const Interval& outputs,
                  bool align) {
  const std::int64_t origin = needed_linear(n, m, outputs, align).begin;
  std::vector<at::Tensor> y;
  for (std::int64_t j = outputs.begin; j < outputs.end; ++j) {
    const auto d = [](std::int64_t k) { return static_cast<double>(k); };
    const std::int64_t i = linear_input(n, m, j, align);
    const double at =
        align ? (m == 1 ? 0 : d(j) * d(n - 1) / d(m - 1)) : std::max(0., (d(j) + 0.5) * d(n) / d(m) - 0.5);
    const at::Tensor first = held.select(2, i - origin);
    const at::Tensor second = held.select(2, std::min(i + 1, n - 1) - origin);
    y.push_back(first.mul(1 - (at - d(i))).add(second.mul(at - d(i))));
  }
  return at::stack(y, 2);
}

at::Tensor nearest(const at::Tensor& held, std::int64_t n, std::int64_t m, const Interval& outputs) {
  std::vector<at::Tensor> y;
  for (std::int64_t j = outputs.begin; j < outputs.end; ++j) {
    y.push_back(held.select(2, nearest_input(n, m, j) - needed_nearest(n, m, outputs).begin));
  }
  return at::stack(y, 2);
}

TEST(Halo, GivesTheUpSamplingOfOneWorker) {
  const at::NoGradGuard guard;
  RandomSpaces random(14);
  const Partition P = Partition::world();
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::int64_t n = 1 + random.any_of(9);
    const std::int64_t m = 1 + random.any_of(20);
    const Space X = Space(P, {2, 2, n}).sharded(2, "world", random.split(n, P.size()));
    const Split outputs = Split::balanced(m, P.size());
    const Space Y = Space(P, {2, 2, m}).sharded(2, "world", outputs);
    const at::Tensor whole = random_tensor(X.shape(), i);
    const Interval mine = outputs[P.rank()];
    const auto brought = [&](const auto& needs) {
      std::vector<Intervals> all;
      for (int worker = 0; worker < P.size(); ++worker) all.push_back({needs(outputs[worker])});
      return between(X, covering(X, 2, all))(distribute(X, whole)).local();
    };

    const at::Tensor near = brought([&](const Interval& out) { return needed_nearest(n, m, out); });
    for (const bool align : {false, true}) {
      const at::Tensor held = brought([&](const Interval& out) { return needed_linear(n, m, out, align); });
      if (mine.size() == 0) continue;
      expect_near(linear(held, n, m, mine, align),
                  distribute(Y, at::upsample_linear1d(whole, {m}, align)).local());
    }
    if (mine.size() == 0) continue;
    EXPECT_SAME_BITS(nearest(near, n, m, mine), distribute(Y, at::upsample_nearest1d(whole, {m})).local());
  }
}

}  // namespace
}  // namespace riesz::testing
