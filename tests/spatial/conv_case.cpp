// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "conv_case.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/pad.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "../nn/expect.h"
#include "../nn/program_traffic.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

const char* const kSpecs[] = {"bcw,ocs->bow", "bchw,ocrs->bohw", "bcdhw,octrs->bodhw"};

std::vector<std::int64_t> numbers(RandomSpaces& random, int dims, int least, int most) {
  std::vector<std::int64_t> all;
  const int count = random.any_of(3) == 0 ? 1 : dims;
  for (int i = 0; i < count; ++i) all.push_back(least + random.any_of(most - least + 1));
  return all;
}

ConvWindows random_windows(RandomSpaces& random, int dims, const std::vector<std::int64_t>& kernel) {
  ConvWindows windows;
  windows.groups = random.any_of(2) == 0 ? 1 : 1 + random.any_of(4);
  windows.dilation = numbers(random, dims, 1, 2);
  windows.padding.mode = static_cast<PaddingMode>(random.any_of(4));
  windows.padding.same = random.any_of(5) == 0;
  if (windows.padding.same) return windows;
  windows.stride = numbers(random, dims, 1, 4);
  windows.padding.each = numbers(random, dims, 0, static_cast<int>(kernel[0]));
  return windows;
}

/// Such as fit the window, with some more.
std::vector<std::int64_t> random_extents(RandomSpaces& random, int dims,
                                         const std::vector<std::int64_t>& kernel,
                                         const ConvWindows& windows) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dims); ++i) {
    const auto at = [i](const std::vector<std::int64_t>& all) { return all[all.size() == 1 ? 0 : i]; };
    const std::int64_t width = at(windows.dilation) * (kernel[i] - 1) + 1;
    const std::int64_t padding = windows.padding.same ? width / 2 : at(windows.padding.each);
    const std::int64_t least = windows.padding.mode == PaddingMode::zeros
                                   ? std::max<std::int64_t>(1, width - 2 * padding)
                                   : std::max(padding + 1, width - 2 * padding);
    extents.push_back(least + random.any_of(dims == 1 ? 12 : 7));
  }
  return extents;
}

Traffic elements(Traffic traffic) { return {traffic.elements, 0, traffic.messages}; }

/// What has left this worker since the last call.
Traffic sent() {
  const Traffic all = elements(program_traffic());
  Counters::instance().reset();
  return all;
}

std::vector<std::int64_t> padding_on_both_sides(const std::vector<Window>& windows) {
  std::vector<std::int64_t> pad;
  for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
    pad.push_back(window->padding_before);
    pad.push_back(window->padding_after);
  }
  return pad;
}

std::vector<Window> all_windows(const at::Tensor& x, const at::Tensor& w, const ConvWindows& by) {
  return detail::windows_of("torch_conv", w.sizes().slice(2).vec(), x.sizes().slice(2).vec(), by.stride,
                            by.dilation, by.padding);
}

}  // namespace

std::string to_string(const ConvCase& c) {
  const auto text = [](const std::vector<std::int64_t>& all) { return concat(at::IntArrayRef(all)); };
  return concat(c.spec, " stride ", text(c.windows.stride), " dilation ", text(c.windows.dilation),
                " padding ", text(c.windows.padding.each), c.windows.padding.same ? " same " : " ",
                riesz::to_string(c.windows.padding.mode), " groups ", c.windows.groups, "\nX ",
                riesz::to_string(c.X), "\nW ", riesz::to_string(c.W), "\nY ", riesz::to_string(c.Y));
}

ConvCase random_conv_case(std::uint64_t seed) {
  RandomSpaces random(seed);
  const int dims = 1 + random.any_of(3);
  std::vector<std::int64_t> kernel;
  for (int i = 0; i < dims; ++i) kernel.push_back(1 + random.any_of(dims == 1 ? 6 : 4));
  const ConvWindows windows = random_windows(random, dims, kernel);
  const std::vector<std::int64_t> extents = random_extents(random, dims, kernel, windows);
  const std::int64_t in = windows.groups * (1 + random.any_of(3)),
                     out = windows.groups * (1 + random.any_of(3));
  std::vector<std::int64_t> x{1 + random.any_of(3), in}, w{out, in / windows.groups};
  x.insert(x.end(), extents.begin(), extents.end());
  w.insert(w.end(), kernel.begin(), kernel.end());
  const Partition grid = random.grid(some_workers(random));
  const std::vector<Placement> kinds{Placement::Replicated, Placement::Copied, Placement::Partial};
  const std::string spec = kSpecs[dims - 1];
  const Space X = random.lay_out(Space(grid, x), kinds, true);
  const Space W = random.lay_out(Space(grid, w), kinds, true);
  std::vector<std::int64_t> any(x.size(), Space::any);
  const Space bound = convolved(spec, X, w, Space(grid, any), windows);
  return {spec, X, W, random.lay_out(Space(grid, bound.shape()), kinds, true), windows};
}

at::Tensor torch_conv(const at::Tensor& x, const at::Tensor& w, const ConvWindows& by) {
  const std::vector<Window> windows = all_windows(x, w, by);
  const std::string mode =
      by.padding.mode == PaddingMode::zeros ? "constant" : riesz::to_string(by.padding.mode);
  std::vector<std::int64_t> stride, dilation;
  for (const Window& window : windows) stride.push_back(window.stride), dilation.push_back(window.dilation);
  const std::vector<std::int64_t> none(windows.size(), 0);
  return at::convolution(at::pad(x, padding_on_both_sides(windows), mode), w, {}, stride, none, dilation,
                         false, none, by.groups);
}

void expect_torchs(const ConvCase& c) {
  SCOPED_TRACE(to_string(c));
  const Convolution form(c.spec, c.X, c.W, c.Y, c.windows);
  const at::Tensor x_global = draws(c.X.shape(), 1).requires_grad_();
  const at::Tensor w_global = draws(c.W.shape(), 2).requires_grad_();
  const at::Tensor y_global = torch_conv(x_global, w_global, c.windows);
  const at::Tensor ybar = draws(c.Y.shape(), 3);
  y_global.backward(ybar);
  const Vector x = leaf(c.X, x_global.detach()), w = leaf(c.W, w_global.detach());
  const int rank = c.W.partition().rank();
  Chain chain;
  sent();
  const Vector y = form(x, w);
  const Traffic forward = sent();
  const std::vector<Vector> gradients = pullback(y, distribute(dual(c.Y), ybar), {x, w});
  const Traffic backward = sent();
  if (rank >= 0) {
    EXPECT_EQ(forward, elements(form.forward_traffic(rank)));
    EXPECT_EQ(backward, elements(form.backward_traffic(rank)));
  }
  EXPECT_TRUE(means(y, y_global.detach()));
  EXPECT_TRUE(means(gradients[0], x_global.grad()));
  EXPECT_TRUE(means(gradients[1], w_global.grad()));
}

void expect_transposed(const ConvCase& c) {
  SCOPED_TRACE("transposed " + to_string(c));
  const Convolution form(c.spec, c.X, c.W, c.Y, c.windows);
  const at::Tensor x_global = draws(c.X.shape(), 1).requires_grad_();
  const at::Tensor y_global = draws(c.Y.shape(), 3).requires_grad_();
  const at::Tensor w_global = draws(c.W.shape(), 2).requires_grad_();
  const at::Tensor value = torch_conv(x_global, w_global, c.windows);
  const at::Tensor expected = torch::autograd::grad({value}, {x_global}, {y_global}, true, true)[0];
  const at::Tensor xbar = draws(c.X.shape(), 4);
  expected.backward(xbar);
  const Vector y = leaf(dual(c.Y), y_global.detach()), w = leaf(c.W, w_global.detach());
  Chain chain;
  sent();
  const Vector x = form.transposed(y, w);
  const Traffic forward = sent();
  if (c.W.partition().active()) {
    EXPECT_EQ(forward, elements(form.transposed_traffic(c.W.partition().rank())));
  }
  const std::vector<Vector> gradients = pullback(x, distribute(c.X, xbar), {y, w});
  EXPECT_TRUE(means(x, expected.detach()));
  EXPECT_TRUE(means(gradients[0], y_global.grad()));
  EXPECT_TRUE(means(gradients[1], w_global.grad()));
  const at::NoGradGuard no_gradient;
  const Vector given = distribute(c.X, x_global.detach());
  const double one = pairing(form(given, w), y), other = pairing(given, form.transposed(y, w));
  EXPECT_LE(std::abs(one - other), 1e-12 * std::max(1.0, std::abs(one)) * static_cast<double>(c.Y.numel()));
}

}  // namespace riesz::testing
