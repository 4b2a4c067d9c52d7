// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of vectors that lie in any way, against torch's on global tensors.
#include "riesz/nn/spatial/convolution.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "../nn/expect.h"
#include "conv_case.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/window.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"

namespace riesz::testing {
namespace {

constexpr char kSpec[] = "bchw,ocrs->bohw";

std::string axis_of(const Partition& grid, std::size_t i) { return grid.axes()[i % grid.axes().size()].name; }

/// S with the grid's axes on these dims in turn; −1: it stays Replicated.
Space lay(Space S, const std::vector<int>& dims) {
  for (std::size_t i = 0; i < S.partition().axes().size() && i < dims.size(); ++i)
    if (dims[i] >= 0) S = S.sharded(dims[i], axis_of(S.partition(), i));
  return S;
}

ConvCase case_on(const Partition& grid, const ConvWindows& windows, std::int64_t kernel,
                 const std::vector<int>& x, const std::vector<int>& w, const std::vector<int>& y) {
  const Space X = lay(Space(grid, {2, 4, 9, 7}), x);
  const Space W = lay(Space(grid, {6, 4 / windows.groups, kernel, kernel}), w);
  const Space any(grid, {Space::any, Space::any, Space::any, Space::any});
  return {kSpec, X, W, lay(Space(grid, convolved(kSpec, X, W.shape(), any, windows).shape()), y), windows};
}

/// The dims of x, w and y that the axes shard.
struct Placed {
  std::vector<int> x, w, y;
};

const std::vector<Placed> kPlaced{{{2, 3, 0}, {-1, -1, -1}, {2, 3, 0}},  // space, and the batch
                                  {{3, 2, 2}, {-1, -1, -1}, {2, 3, 3}},  // space, turned round
                                  {{1, 2, 3}, {1, -1, -1}, {-1, 2, 3}},  // channels in
                                  {{-1, 2, 3}, {0, -1, -1}, {1, 2, 3}},  // channels out
                                  {{1, -1, 2}, {1, 0, -1}, {-1, 1, 2}},  // both, and space
                                  {{2, 0, 1}, {0, 1, 2}, {1, 2, 3}}};    // any

TEST(Convolution, IsTorchsOnEveryGrid) {
  const std::vector<ConvWindows> windows{
      {.padding = {.each = {1}}},
      {.stride = {2, 1}, .padding = {.each = {2, 0}}},
      {.dilation = {2}, .padding = {.same = true}},
      {.padding = {.each = {1}, .mode = PaddingMode::circular}, .groups = 2}};
  for_each_grid(Runtime::size(), [&](const Partition& grid) {
    for (std::size_t i = 0; i < kPlaced.size(); ++i) {
      const Placed& p = kPlaced[i];
      expect_torchs(case_on(grid, windows[i % windows.size()], 3, p.x, p.w, p.y));
      expect_transposed(case_on(grid, windows[(i + 1) % windows.size()], 2, p.x, p.w, p.y));
    }
  });
}

TEST(Convolution, IsTorchsInRandomConfigurations) {
  constexpr std::uint64_t kCases = 100;
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConvCase c = random_conv_case(seed);
    if (seed % 2 == 0)
      expect_torchs(c);
    else
      expect_transposed(c);
  }
}

/// Where all that a worker's window reads is padding.
TEST(Convolution, IsTorchsWhereAWorkerReadsNothing) {
  const Partition mesh = Partition::world();
  const Space X = Space(mesh, {2, 3, 2}).sharded(2, "world"), W(mesh, {4, 3, 1});
  const ConvWindows windows{.padding = {.each = {1}}};
  const ConvCase of{"bcw,ocx->bow", X, W, Space(mesh, {2, 4, 4}).sharded(2, "world"), windows};
  expect_torchs(of);
  expect_transposed(of);
}

/// Elements of [a) ∩ [b).
std::int64_t common(const Interval& a, const Interval& b) { return intersect(a, b).size(); }

/// As balanced, but the last worker has half of the first one's too.
Split uneven(std::int64_t n, int p) {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < p; ++i) sizes.push_back(Split::balanced(n, p)[i].size());
  const std::int64_t moved = sizes.front() / 2;
  sizes.front() -= moved, sizes.back() += moved;
  return Split::sizes(sizes);
}

/// Along one axis: what others need of what this worker owns, by DistDL's formula for the halo.
TEST(Convolution, SendsTheHaloThatItsGeometryNeeds) {
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const int p = mesh.size(), rank = mesh.rank();
  for (const auto& [n, kernel, stride, padding] : std::vector<std::array<std::int64_t, 4>>{
           {16, 3, 1, 1}, {17, 5, 2, 2}, {19, 2, 3, 0}, {9, 7, 1, 3}, {24, 3, 3, 0}, {8, 8, 1, 4}}) {
    const std::int64_t m = (n + 2 * padding - kernel) / stride + 1;
    const Split own = uneven(n, p), out = Split::balanced(m, p);
    Traffic expected;
    for (int q = 0; q < p; ++q) {
      if (q == rank || out[q].size() == 0) continue;
      const Interval need{stride * out[q].begin - padding, stride * (out[q].end - 1) - padding + kernel};
      const std::int64_t elements = 2 * 3 * 5 * common(own[rank], need);
      expected += {elements, 0, elements > 0};
    }
    const Space X = Space(mesh, {2, 3, n, 5}).sharded(2, "sp", own);
    const Space Y = Space(mesh, {2, 4, m, 3}).sharded(2, "sp");
    const Convolution form(kSpec, X, Space(mesh, {4, 3, kernel, 3}), Y,
                           {.stride = {stride, 1}, .padding = {.each = {padding, 0}}});
    EXPECT_EQ(form.forward_traffic(rank), expected) << n << " " << kernel << " " << stride;
    const Traffic of_x = form.backward_traffic(rank, {.of_w = false});
    EXPECT_EQ(of_x, adjoint(form.read(0)).traffic(rank));
    EXPECT_EQ(form.backward_traffic(rank, {.of_x = false}), adjoint(form.read(1)).traffic(rank));
    EXPECT_EQ(form.backward_traffic(rank, {.of_x = false, .of_w = false}), Traffic{});
    // A weight that was gathered is not kept: backward reads both again.
    const Convolution gathering(kSpec, X, Space(mesh, {4, 3, kernel, 3}).sharded(0, "sp"), Y,
                                {.stride = {stride, 1}, .padding = {.each = {padding, 0}}});
    const Traffic read = p == 1 ? Traffic{} : expected + gathering.read(1).traffic(rank);
    EXPECT_EQ(gathering.backward_traffic(rank, {.of_w = false}), of_x + read);
    EXPECT_EQ(form.parallel().at("sp"), p == 1 && n < 0 ? '-' : 'h');
    EXPECT_ADJOINT(form.read(0));
  }
}

/// Where one axis cuts space, own rows are convolved first, and the neighbours' rows added at the edges.
TEST(Convolution, IsTorchsAtTheEdgesOfItsRows) {
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const int p = mesh.size();
  for (const std::int64_t kernel : {3, 5}) {
    const std::int64_t pays = 16 * (kernel / 2) * p;
    for (const std::int64_t n :
         {pays + 1, pays, pays - 1, std::int64_t{2} * p, std::int64_t{p}}) {  // narrower than a halo, too
      const ConvWindows windows{.padding = {.each = {kernel / 2}}},
          strided{.stride = {1, 2}, .dilation = {1, 2}, .padding = {.each = {kernel / 2, kernel}}};
      const Space X(mesh, {2, 3, n, 7}), W(mesh, {4, 3, kernel, kernel}), Y = X.with_shape({2, 4, n, 7});
      expect_torchs({kSpec, X.sharded(2, "sp"), W, Y.sharded(2, "sp"), windows});
      const Space bound(mesh, convolved(kSpec, X, W.shape(), Space(mesh, {2, 4, n, -1}), strided).shape());
      expect_torchs({kSpec, X.sharded(2, "sp"), W, bound.sharded(2, "sp"), strided});
      const Space across(mesh, {2, 3, 7, n});
      expect_torchs(
          {kSpec, across.sharded(3, "sp"), W, across.with_shape({2, 4, 7, n}).sharded(3, "sp"), windows});
    }
  }
}

/// Another axis may shard the batch, or the channels out.
TEST(Convolution, HasEdgesBesideOtherAxes) {
  const int p = Runtime::size();
  if (p % 2 != 0) return;
  const Partition mesh = Partition::world().grid({{"a", 2}, {"sp", p / 2}});
  const ConvWindows windows{.padding = {.each = {1}}};
  const Space X = Space(mesh, {3, 3, 16 * (p / 2) + 1, 5}).sharded(2, "sp"), W(mesh, {3, 3, 3, 3});
  expect_torchs({kSpec, X.sharded(0, "a"), W, X.sharded(0, "a"), windows});
  expect_torchs({kSpec, X, W.sharded(0, "a"), X.sharded(1, "a"), windows});
}

TEST(Convolution, HasSecondDerivativesAtTheEdgesOfItsRows) {
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const std::int64_t n = 16 * mesh.size();
  const Space X = Space(mesh, {2, 3, n, 4}).sharded(2, "sp"), W(mesh, {3, 3, 3, 3});
  const ConvWindows windows{.padding = {.each = {1}}};
  const at::Tensor x = draws(X.shape(), 1).requires_grad_(), w = draws(W.shape(), 2).requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 3), v = draws(X.shape(), 4);
  const at::Tensor xbar = torch::autograd::grad({torch_conv(x, w, windows)}, {x}, {ybar}, true, true)[0];
  const at::Tensor expected = torch::autograd::grad({xbar}, {w}, {v})[0];
  const Vector a = leaf(X, x.detach()), b = leaf(W, w.detach());
  const Chain chain;
  const Vector first =
      pullback(Convolution(kSpec, X, W, X, windows)(a, b), distribute(dual(X), ybar), {a}, true)[0];
  EXPECT_TRUE(means(first, xbar.detach()));
  EXPECT_TRUE(means(pullback(first, distribute(X, v), {b})[0], expected));
}

TEST(Convolution, ReadsWhatItHasWhereWindowsAreOfOneWorker) {
  const std::int64_t p = Runtime::size();
  const Partition mesh = Partition::world();
  const Space X = Space(mesh, {2, 3, 4 * p, 5}).sharded(2, "world");
  const Space Y = Space(mesh, {2, 4, 2 * p, 5}).sharded(2, "world");
  EXPECT_TRUE(
      Convolution(kSpec, X, Space(mesh, {4, 3, 2, 1}), Y, {.stride = {2, 1}}).read(0).steps().empty());
}

/// Of two axes that may cut a dim, the one that cuts y's does. One of a single worker cuts none.
TEST(Convolution, IsCutByOneAxisAlongADim) {
  const Partition mesh = Partition::simulated(4).grid({{"a", 2}, {"b", 2}, {"c", 1}});
  const Space X(mesh, {2, 3, 8, 8}), W(mesh, {4, 3, 3, 3}), Y(mesh, {2, 4, 6, 6});
  const Parallel of_y = Convolution(kSpec, X.sharded(2, "a"), W, Y.sharded(2, "b")).parallel();
  EXPECT_EQ(of_y, (Parallel{{"a", '-'}, {"b", 'h'}, {"c", '-'}}));
  const Space cut = X.sharded(2, "c").sharded(2, "b");
  EXPECT_EQ(Convolution(kSpec, cut, W, Y.sharded(2, "c").sharded(2, "b")).parallel().at("b"), 'h');
}

/// Each worker has terms of the gradients, which nobody adds.
TEST(Convolution, SendsNothingWhereAllIsCopied) {
  const Partition mesh = Partition::simulated(2).grid({{"p", 2}});
  const auto copied = [&](const std::vector<std::int64_t>& shape) { return Space(mesh, shape).copied("p"); };
  const Convolution form(kSpec, copied({2, 3, 8, 8}), copied({4, 3, 3, 3}), copied({2, 4, 6, 6}));
  EXPECT_EQ(form.forward_traffic(0), Traffic{});
  EXPECT_EQ(form.backward_traffic(0), Traffic{});
}

TEST(Convolution, HasChannelsByTheRuleOfTheContraction) {
  const Partition grid = Partition::world().grid({{"p", Runtime::size()}});
  const Space X(grid, {2, 8, 6, 6}), W(grid, {8, 8, 1, 1}), Y(grid, {2, 8, 6, 6});
  const auto index = [](const Space& x, const Space& w, const Space& y) {
    return Convolution(kSpec, x, w, y).parallel().at("p");
  };
  EXPECT_EQ(index(X.sharded(0, "p"), W.sharded(0, "p"), Y.sharded(0, "p")), 'b');
  EXPECT_EQ(index(X, W.sharded(0, "p"), Y.sharded(1, "p")), 'o');
  EXPECT_EQ(index(X.sharded(1, "p"), W.sharded(1, "p"), Y), 'c');
  EXPECT_EQ(index(X.sharded(1, "p"), W, Y.sharded(1, "p")), 'c');
  EXPECT_EQ(index(X, W, Y.sharded(3, "p")), 'w');
  EXPECT_EQ(index(X, W, Y), '-');
  const std::string text = to_string(Convolution(kSpec, X, W, Y.sharded(3, "p")));
  EXPECT_EQ(text.substr(0, text.find(';')), "convolution bchw,ocrs->bohw on p: w");
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const Partition grid = Partition::world();
  const Space X(grid, {2, 4, 9, 7}), W(grid, {6, 4, 3, 3}),
      any(grid, std::vector<std::int64_t>(4, Space::any));
  const auto make = [&](const Space& w, const ConvWindows& windows, const std::string& spec = kSpec) {
    return Convolution(spec, X, w, any, windows);
  };
  EXPECT_ERROR(make(W, {}, "bchw,ocrs"), "does not name x, w and a result");
  EXPECT_ERROR(make(W, {}, "bchw,cors->bohw"), "has its letters in another order");
  EXPECT_ERROR(make(W, {}, "bchw,ochx->bohw"), "has the letter h for two dims");
  EXPECT_ERROR(make(W, {}, "bhw,ors->bow"), "has its letters in another order");
  EXPECT_ERROR(make(W, {.groups = 3}), "3 groups of 4 channels in and 6 out; the groups must divide both");
  EXPECT_ERROR(make(W, {.groups = 2}), "reads 4 each; it must be 2");
  EXPECT_ERROR(make(W, {.stride = {1, 2, 3}}), "stride has 3 numbers for 2 spatial dims");
  EXPECT_ERROR(make(W, {.stride = {0}}), "stride 0");
  EXPECT_ERROR(make(W, {.stride = {2}, .padding = {.same = true}}),
               "as many outputs as inputs (Padding::same)");
  EXPECT_ERROR(make(W, {.dilation = {5}}), "a window over 11 elements does not fit the 9 of spatial dim 0");
  EXPECT_ERROR(make(W, {.padding = {.each = {7}, .mode = PaddingMode::reflect}}),
               "a padding of 7 by mode reflect, but spatial dim 1 has 7 elements, so at most 6");
  EXPECT_ERROR(make(W, {.padding = {.each = {8}, .mode = PaddingMode::circular}}),
               "a padding of 8 by mode circular", "so at most 7");
  EXPECT_ERROR(Convolution(kSpec, X.with_shape({2, 4, 0, 7}), W, any,
                           {.padding = {.each = {2}, .mode = PaddingMode::replicate}}),
               "a padding of 2 by mode replicate", "so at most 0");
  EXPECT_ERROR(Convolution(kSpec, X, W, Space(grid, {2, 6, 9, 5})),
               "dim 2 of the result has 7 elements, but 9 in");
}

}  // namespace
}  // namespace riesz::testing
