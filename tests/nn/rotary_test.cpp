// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/rotary.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/polar.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "expect.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/attention/rotary_turns.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 5, T = 13, H = 3, D = 6;

/// Pairs as complex numbers of (B, T, H, D), each times e^(iθ).
at::Tensor turned(const at::Tensor& x, std::int64_t dims, double base, std::int64_t offset) {
  at::Tensor angle = at::empty({x.size(1), dims / 2}, at::kDouble);
  for (std::int64_t t = 0; t < x.size(1); ++t) {
    for (std::int64_t i = 0; i < dims / 2; ++i) {
      angle[t][i] = static_cast<double>(t + offset) /
                    std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(dims));
    }
  }
  const at::Tensor unit = at::polar(at::ones({x.size(1), 1, dims / 2}, at::kDouble), angle.unsqueeze(1));
  const at::Tensor first =
      x.narrow(-1, 0, dims).reshape({x.size(0), x.size(1), x.size(2), dims / 2, 2}).contiguous();
  const at::Tensor pairs = at::view_as_real(at::view_as_complex(first).mul(unit)).flatten(-2);
  return at::cat({pairs, x.narrow(-1, dims, x.size(-1) - dims)}, -1);
}

void expect_turned(const Space& X, const RotaryOptions& options) {
  SCOPED_TRACE(to_string(X));
  const at::Tensor x_global = draws(X.shape(), 1).requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 2);
  const Vector x = leaf(X, x_global);

  Chain chain;
  const Vector y = rotary(x, options);
  const Vector gradient = pullback(y, distribute(dual(X), ybar), {x}).front();

  const at::Tensor expected = turned(x_global, options.dims.value_or(D), options.base, options.offset);
  expected.backward(ybar);
  EXPECT_TRUE(means(y, expected));
  EXPECT_TRUE(means(gradient, x_global.grad()));
}

TEST(Rotary, TurnsPairsByTheirGlobalPositionAtEveryPlacement) {
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {B, T, H, D});
    const int p = mesh.extent("tp");
    for (const Space& S :
         {X, X.sharded(1, "tp"), X.sharded(1, "tp", Split::zigzag(T, p)).sharded(0, "dp"),
          X.sharded(1, "dp").sharded(1, "tp"), X.copied("dp").sharded(2, "tp"), X.partial("tp"),
          X.sharded(1, "tp", Split::zigzag(T, p).rotated(1)).partial("dp")}) {
      expect_turned(S, {});
      expect_turned(S, {.dims = 4});
      expect_turned(S, {.dims = 2, .base = 100, .offset = 7});
    }
  }
}

/// As published: x·cos + rotate_half(x)·sin of (B, T, H, D), with Llama 3's frequencies if they are scaled.
at::Tensor turned_by_halves(const at::Tensor& x, const RotaryOptions& options) {
  const std::int64_t dims = options.dims.value_or(x.size(-1)), half = dims / 2;
  at::Tensor angle = at::empty({x.size(1), 1, dims}, at::kDouble);
  for (std::int64_t i = 0; i < half; ++i) {
    double frequency = std::pow(options.base, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
    if (options.scaling) {
      const double length = 2 * std::numbers::pi / frequency;
      const auto old = static_cast<double>(options.scaling->original_max_position);
      const auto [factor, low, high, position] = *options.scaling;
      const double smooth = (old / length - low) / (high - low);
      if (length > old / low) {
        frequency /= factor;
      } else if (length >= old / high) {
        frequency = (1 - smooth) * frequency / factor + smooth * frequency;
      }
    }
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      angle[t][0][i] = frequency * static_cast<double>(t + options.offset);
      angle[t][0][i + half] = angle[t][0][i];
    }
  }
  const at::Tensor first = x.narrow(-1, 0, dims);
  const at::Tensor rotated = at::cat({first.narrow(-1, half, half).neg(), first.narrow(-1, 0, half)}, -1);
  return at::cat(
      {first.mul(angle.cos()).add(rotated.mul(angle.sin())), x.narrow(-1, dims, x.size(-1) - dims)}, -1);
}

void expect_turned_by_halves(const Space& X, RotaryOptions options) {
  SCOPED_TRACE(to_string(X));
  options.pairs = RotaryPairs::halves;
  const at::Tensor x_global = draws(X.shape(), 1).requires_grad_();
  const at::Tensor ybar = draws(X.shape(), 2);
  const Vector x = leaf(X, x_global);

  Chain chain;
  const Vector y = rotary(x, options);
  const Vector gradient = pullback(y, distribute(dual(X), ybar), {x}).front();

  const at::Tensor expected = turned_by_halves(x_global, options);
  expected.backward(ybar);
  EXPECT_TRUE(means(y, expected));
  EXPECT_TRUE(means(gradient, x_global.grad()));
}

/// Of 6 dims with base 10000 the pairs turn every 6.3, 135 and 2917 positions: with 256 as before, between,
/// and more slowly.
TEST(Rotary, TurnsHalvesAndScalesFrequenciesAtEveryPlacement) {
  const RotaryScaling scaling{.original_max_position = 256};
  RandomSpaces random(5);
  for (const Partition& mesh : meshes()) {
    const Space X(mesh, {B, T, H, D});
    const int p = mesh.extent("tp");
    for (const Space& S : {X, X.sharded(1, "tp", Split::zigzag(T, p)).sharded(0, "dp"),
                           X.copied("dp").sharded(2, "tp"), X.partial("tp")}) {
      expect_turned_by_halves(S, {});
      expect_turned_by_halves(S, {.dims = 4, .base = 500, .offset = 7});
      expect_turned_by_halves(S, {.scaling = scaling});
    }
    expect_turned_by_halves(X.sharded(1, "tp", random.split(T, p)), {.scaling = scaling});
  }
  for (int trial = 0; trial < 10; ++trial) {
    const Partition P = random.grid(some_workers(random));
    const Space X = random.lay_out(Space(P, {B, T, H}),
                                   {Placement::Replicated, Placement::Copied, Placement::Partial}, true);
    expect_turned_by_halves(insert_dim(X, 3, D), {.offset = 3, .scaling = scaling});
  }
}

TEST(Rotary, ScalesAsLlama3Does) {
  const RotaryOptions llama{
      .base = 500000, .offset = 5000, .pairs = RotaryPairs::halves, .scaling = RotaryScaling{}};
  const at::Tensor x = draws({1, 3, 2, 128}, 1);
  EXPECT_TRUE(is_close(rotary(Vector(Space(Partition::simulated(1), x.sizes().vec()), x), llama).local(),
                       turned_by_halves(x, llama)));
}

TEST(Rotary, MakesTheSameTurnsOnce) {
  const RotaryOptions options{.dims = 4};
  const auto turns = [&](const Intervals& held, const RotaryOptions& o, at::ScalarType type) {
    return detail::rotary_turns(held, o, at::dtype(type).device(at::kCPU)).cosine;
  };
  const at::Tensor first = turns({{3, 7}, {9, 10}}, options, at::kFloat);
  EXPECT_TRUE(first.is_same(turns({{3, 7}, {9, 10}}, options, at::kFloat)));
  EXPECT_FALSE(first.is_same(turns({{3, 7}, {9, 10}}, options, at::kDouble)));
  EXPECT_FALSE(first.is_same(turns({{3, 8}}, options, at::kFloat)));
  EXPECT_FALSE(first.is_same(turns({{3, 7}, {9, 10}}, {.dims = 4, .offset = 1}, at::kFloat)));
  for (std::int64_t offset = 0; offset < 50; ++offset)
    turns({{3, 7}}, {.dims = 4, .offset = offset}, at::kFloat);
  EXPECT_EQ(first.use_count(), 1) << "of many, only the last few are kept";
}

/// Tables made without values have none, and are not for runs with values.
TEST(Rotary, TakesNoTurnsOfARunWithoutValues) {
  const RotaryOptions options{.dims = 4, .offset = 77};
  const auto sines = [&] { return detail::rotary_turns({{0, 3}}, options, at::dtype(at::kDouble)).sine; };
  {
    const WithoutValues nothing;
    EXPECT_TRUE(sines().is_same(sines()));
  }
  EXPECT_DOUBLE_EQ(sines()[2][0][0].item<double>(), std::sin(79.0));
}

TEST(Rotary, KeepsAnglesBetweenPositionsApart) {
  const Space X(Partition::simulated(1), {1, T, 1, D});
  const at::Tensor ones = at::ones({1, T, 1, D}, at::kDouble);
  const at::Tensor y = rotary(Vector(X, ones)).local().view({T, D});
  const at::Tensor later = rotary(Vector(X, ones), {.offset = 5}).local().view({T, D});

  EXPECT_TRUE(is_close(y.matmul(y.t()), later.matmul(later.t())));
  EXPECT_TRUE(is_close(y.narrow(0, 5, T - 5), later.narrow(0, 0, T - 5)));
}

TEST(Rotary, TurnsHalfTypesInSinglePrecision) {
  const Space X(Partition::simulated(1), {B, T, H, D});
  const at::Tensor x = draws(X.shape(), 1).to(at::kBFloat16);
  const at::Tensor y = rotary(Vector(X, x)).local();

  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(is_close(y, turned(x.to(at::kDouble), D, 10000, 0).to(at::kBFloat16), 1.0 / 256));
}

/// A vector that nobody else holds is turned where it lies, and its gradient turns back where that lies.
TEST(Rotary, TurnsInPlaceWhatIsGivenAway) {
  const Space X(Partition::simulated(1), {B, T, H, D});
  const at::Tensor leaf = draws(X.shape(), 1).requires_grad_(), ybar = draws(X.shape(), 2);
  const auto made = [&] { return Vector(X, leaf.clone()); };
  const Vector held = made();
  const at::Tensor expected = rotary(held).local();
  const at::Tensor gradient = torch::autograd::grad({expected}, {leaf}, {ybar})[0];
  EXPECT_TRUE(held.local().equal(leaf));  // somebody has it

  const MemoryMeter meter;
  const at::Tensor y = rotary(made()).local();
  EXPECT_EQ(MemoryMeter::peak(), y.nbytes());
  EXPECT_TRUE(y.equal(expected));
  MemoryMeter::restart();
  const std::int64_t before = MemoryMeter::alive();
  const at::Tensor through = y.neg();
  const at::Tensor back = torch::autograd::grad({through}, {leaf}, {ybar.neg()})[0];
  EXPECT_TRUE(back.equal(gradient));
  EXPECT_EQ(MemoryMeter::peak() - before, 3 * y.nbytes());  // through, ybar.neg(), and one of neg's backward

  std::vector<double> own(static_cast<std::size_t>(leaf.numel()), 1.0);  // memory of the user's own
  rotary(Vector(X, at::from_blob(own.data(), X.shape(), at::kDouble)));
  EXPECT_EQ(own, std::vector<double>(own.size(), 1.0));

  const Vector saved = made();  // an operation that saves its result holds its memory
  const at::Tensor square = saved.local().sigmoid();
  const at::Tensor turned_square = rotary(Vector(X, square)).local();
  EXPECT_TRUE(torch::autograd::grad({turned_square}, {leaf}, {ybar})[0].isfinite().all().item<bool>());
  EXPECT_TRUE(square.equal(saved.local().sigmoid()));
}

TEST(Rotary, SaysWhatDoesNotFit) {
  const Space X(Partition::simulated(2), {B, T, H, D});
  const auto call = [](const Space& S, std::int64_t dims) {
    return rotary(distribute(S, at::ones(S.shape())), {.dims = dims});
  };

  EXPECT_ERROR(call(X, 3), "rotary: 3 dims", "(5, 13, 3, 6)", "an even number of at most 6");
  EXPECT_ERROR(call(X, 8), "rotary: 8 dims");
  EXPECT_ERROR(call(X.sharded(3, "world"), 2), "dim 3, which axis world shards in (5, 13, 3, 6)",
               "between(X, Y)");
  EXPECT_ERROR(call(Space(Partition::simulated(2), {T, D}), 2), "takes (..., T, heads, d), not (13, 6)");
  const Vector x = distribute(X, at::ones(X.shape()));
  EXPECT_ERROR(rotary(x, {.scaling = RotaryScaling{.high_freq_factor = 1}}), "high_freq_factor 1",
               "low_freq_factor is below high_freq_factor");
}

}  // namespace
}  // namespace riesz::testing
