// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of vectors that lie in any way, against torch's on global tensors.
#include "riesz/nn/spatial/convolution.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../nn/expect.h"
#include "conv_case.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/window.h"
#include "riesz/testing/adjoint.h"
#include "riesz/testing/error.h"
#include "riesz/testing/grids.h"

namespace riesz::testing {
namespace {

constexpr char kSpec[] = "bchw,ocyx->bohw";

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

/// Elements of [a) ∩ [b).
std::int64_t common(const Interval& a, const Interval& b) { return intersect(a, b).size(); }

/// Along one axis: what others need of what this worker owns, by DistDL's formula for the halo.
TEST(Convolution, SendsTheHaloThatItsGeometryNeeds) {
  const Partition mesh = Partition::world().grid({{"sp", Runtime::size()}});
  const int p = mesh.size(), rank = mesh.rank();
  for (const auto& [n, kernel, stride, padding] : std::vector<std::array<std::int64_t, 4>>{
           {16, 3, 1, 1}, {17, 5, 2, 2}, {19, 2, 3, 0}, {9, 7, 1, 3}, {24, 3, 3, 0}, {8, 8, 1, 4}}) {
    const std::int64_t m = (n + 2 * padding - kernel) / stride + 1;
    const Split own = Split::balanced(n, p), out = Split::balanced(m, p);
    Traffic expected;
    for (int q = 0; q < p; ++q) {
      if (q == rank || out[q].size() == 0) continue;
      const Interval need{stride * out[q].begin - padding, stride * (out[q].end - 1) - padding + kernel};
      const std::int64_t elements = 2 * 3 * 5 * common(own[rank], need);
      expected += {elements, 0, elements > 0};
    }
    const Space X = Space(mesh, {2, 3, n, 5}).sharded(2, "sp");
    const Space Y = Space(mesh, {2, 4, m, 3}).sharded(2, "sp");
    const Convolution form(kSpec, X, Space(mesh, {4, 3, kernel, 3}), Y,
                           {.stride = {stride, 1}, .padding = {.each = {padding, 0}}});
    EXPECT_EQ(form.forward_traffic(rank), expected) << n << " " << kernel << " " << stride;
    EXPECT_EQ(form.parallel().at("sp"), p == 1 && n < 0 ? '-' : 'h');
    EXPECT_ADJOINT(form.read(0));
  }
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
  EXPECT_EQ(text.substr(0, text.find(';')), "convolution bchw,ocyx->bohw on p: w");
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const Partition grid = Partition::world();
  const Space X(grid, {2, 4, 9, 7}), W(grid, {6, 4, 3, 3}),
      any(grid, std::vector<std::int64_t>(4, Space::any));
  const auto make = [&](const Space& w, const ConvWindows& windows, const std::string& spec = kSpec) {
    return Convolution(spec, X, w, any, windows);
  };
  EXPECT_ERROR(make(W, {}, "bchw,ocyx"), "does not name x, w and a result");
  EXPECT_ERROR(make(W, {}, "bchw,coyx->bohw"), "has its letters in another order");
  EXPECT_ERROR(make(W, {}, "bchw,ochx->bohw"), "has the letter h for two dims");
  EXPECT_ERROR(make(W, {}, "bhw,oyx->bow"), "has its letters in another order");
  EXPECT_ERROR(make(W, {.groups = 3}), "3 groups of 4 channels in and 6 out; the groups must divide both");
  EXPECT_ERROR(make(W, {.groups = 2}), "reads 4 each; it must be 2");
  EXPECT_ERROR(make(W, {.stride = {1, 2, 3}}), "stride has 3 numbers for 2 dims of space");
  EXPECT_ERROR(make(W, {.stride = {0}}), "stride 0");
  EXPECT_ERROR(make(W, {.stride = {2}, .padding = {.same = true}}),
               "as many outputs as inputs (Padding::same)");
  EXPECT_ERROR(make(W, {.dilation = {5}}), "a window over 11 elements does not fit the 9 of dim 0 of space");
  EXPECT_ERROR(make(W, {.padding = {.each = {7}, .mode = PaddingMode::reflect}}),
               "a padding of 7 by mode reflect, but dim 1 of space has 7 elements, so at most 6");
  EXPECT_ERROR(Convolution(kSpec, X, W, Space(grid, {2, 6, 9, 5})),
               "dim 2 of the result has 7 elements, but 9 in");
}

}  // namespace
}  // namespace riesz::testing
