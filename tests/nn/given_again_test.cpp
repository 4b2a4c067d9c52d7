// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a contraction keeps of an x that its own node gives again: nothing. The gradients are those of a kept
// x.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "of_one_x.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/norm/row_norm.h"
#include "riesz/nn/pointwise/pointwise.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;
using ::testing::HasSubstr;

constexpr std::int64_t kRows = 70, kWidth = 24, kOut = 40;

Vector replicated(const at::Tensor& local) { return {Space(all_workers(), local.sizes().vec()), local}; }

Vector normal_leaf(const std::vector<std::int64_t>& shape, at::ScalarType type) {
  return replicated(at::randn(shape, at::kFloat).to(type).requires_grad_());
}

/// Makes x of some leaves.
struct Maker {
  std::string name;
  std::vector<Vector> of;
  std::function<Vector(const std::vector<Vector>&)> make;
  std::int64_t beside;  ///< bytes that it keeps beside its leaves
};

std::vector<Maker> makers(at::ScalarType type) {
  at::manual_seed(7);
  const auto all = [&] { return normal_leaf({kRows, kWidth}, type); };
  const auto beside = [&] { return normal_leaf({kWidth}, type); };
  const auto size = static_cast<std::int64_t>(c10::elementSize(type));
  const auto normed = [](const std::vector<Vector>& of) {
    const at::Tensor bias = of.size() > 2 ? of[2].local() : at::Tensor();
    return replicated(detail::row_norm(of[0].local(), of[1].local(), bias, 1e-5));
  };
  return {
      {"activation", {all()}, [](const auto& of) { return gelu(of[0]); }, 0},
      {"bias and activation",
       {all(), beside()},
       [](const auto& of) { return activate_sum("gelu", "tf,f", of[0], of[1]); },
       kWidth * size},
      {"gated", {all(), all()}, [](const auto& of) { return gated("silu", of[0], of[1]); }, 0},
      {"layer norm", {all(), beside(), beside()}, normed, 2 * kRows * 4 + 2 * kWidth * 4},
      {"rms norm", {all(), beside()}, normed, kRows * 4 + kWidth * 4},
      {"factors of a norm",
       {all(), normal_leaf({kRows, 1}, type), normal_leaf({kRows, 1}, type), beside(), beside()},
       [](const auto& of) {
         return replicated(
             detail::normalised(of[0].local(), {of[1].local(), of[2].local(), of[3].local(), of[4].local()}));
       },
       2 * kWidth * size},
  };
}

Vector weight(at::ScalarType type, std::uint64_t seed) {
  at::manual_seed(seed);
  return normal_leaf({kOut, kWidth}, type);
}

Vector product(const Vector& x, const Vector& w, const ContractionOptions& options = {}) {
  return contract("ti,oi->to", x, w, Space(all_workers(), {kRows, kOut}), options);
}

/// Products of one x, which others hold, or nobody does.
struct Products {
  Products(const Maker& maker, const std::vector<Vector>& ws, bool held,
           const ContractionOptions& options = {}) {
    const Vector x = maker.make(maker.of);
    for (const Vector& w : ws) ys.push_back(product(x, w, options).local());
    if (held) holder = x;
    for (const Vector& leaf : maker.of) leaves.push_back(leaf.local());
    for (const Vector& w : ws) leaves.push_back(w.local());
  }

  Tensors gradients(bool keep_graph = false) const {
    Tensors ybars;
    for (const at::Tensor& y : ys) ybars.push_back(y.detach().sin());
    return torch::autograd::grad(ys, leaves, ybars, keep_graph);
  }

  Tensors ys, leaves;
  std::optional<Vector> holder;
};

void expect_same_bits(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << "number " << i;
}

TEST(GivenAgain, NothingIsKeptOfIt) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const Maker& maker : makers(type)) {
      if (type == at::kDouble && maker.name.ends_with(" norm")) continue;  // LibTorch's own
      SCOPED_TRACE(maker.name + " of " + at::toString(type));
      const Vector w = weight(type, 3);
      const MemoryMeter meter;
      const at::Tensor y = product(maker.make(maker.of), w).local();
      EXPECT_EQ(MemoryMeter::alive(), static_cast<std::int64_t>(y.nbytes()) + maker.beside);
    }
  }
}

TEST(GivenAgain, ItsGradientsAreThoseOfAKeptOne) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const Maker& maker : makers(type)) {
      SCOPED_TRACE(maker.name + " of " + at::toString(type));
      const std::vector<Vector> ws{weight(type, 3), weight(type, 4), weight(type, 5)};
      const Products kept(maker, ws, true), again(maker, ws, false);
      expect_same_bits(again.ys, kept.ys);
      const Tensors expected = kept.gradients();
      expect_same_bits(again.gradients(true), expected);
      expect_same_bits(again.gradients(), expected);  // of a graph that was kept
      EXPECT_THROW(again.gradients(), std::exception);
    }
  }
}

/// fp32 that is computed with in bf16: neither it nor its cast.
TEST(GivenAgain, NorOfWhatItIsCastTo) {
  const ContractionOptions options{.compute_type = at::kBFloat16};
  for (const Maker& maker : makers(at::kFloat)) {
    SCOPED_TRACE(maker.name);
    const std::vector<Vector> ws{weight(at::kFloat, 3), weight(at::kFloat, 4)};
    const Products kept(maker, ws, true, options);
    const Tensors expected = kept.gradients();  // and the weights' casts are made
    const MemoryMeter meter;
    const Products again(maker, ws, false, options);
    std::int64_t bytes = maker.beside;
    for (const at::Tensor& y : again.ys) bytes += static_cast<std::int64_t>(y.nbytes());
    EXPECT_EQ(MemoryMeter::alive(), bytes);
    expect_same_bits(again.gradients(), expected);
  }
}

std::atomic<std::int64_t> computed = 0;

/// Counts its values, not its derivatives.
const Activation& counting() {
  static const auto& a = *new Activation("counting", [](auto x) {
    if constexpr (requires { x.v; }) ++computed;
    return square(x);
  });
  return a;
}

TEST(GivenAgain, OnceForAllItsReaders) {
  const Maker maker{"counting",
                    {normal_leaf({kRows, kWidth}, at::kFloat)},
                    [](const auto& of) { return activate(counting(), of[0]); },
                    0};
  const std::vector<Vector> ws{weight(at::kFloat, 3), weight(at::kFloat, 4), weight(at::kFloat, 5)};
  computed = 0;
  const Products again(maker, ws, false);
  const std::int64_t once = computed;
  EXPECT_GT(once, 0);
  again.gradients(true);
  EXPECT_EQ(computed, 2 * once);
  again.gradients();
  EXPECT_EQ(computed, 3 * once);
  computed = 0;
  Products(maker, ws, true).gradients();
  EXPECT_EQ(computed, once);  // who holds it has it
}

/// After the last of them nothing of it is left, also in a graph that is kept.
TEST(GivenAgain, ItIsLetGoOfInBackward) {
  for (const std::size_t readers : {1U, 3U}) {
    const Maker maker = makers(at::kFloat)[0];
    std::vector<Vector> ws;
    for (std::size_t i = 0; i < readers; ++i) ws.push_back(weight(at::kFloat, i));
    const Products again(maker, ws, false);
    const MemoryMeter meter;
    again.gradients(true);
    EXPECT_EQ(MemoryMeter::alive(), 0);
  }
}

TEST(GivenAgain, SecondDerivativesGoThroughIt) {
  const auto second = [](const Maker& maker, bool held) {
    const Products p(maker, {weight(at::kDouble, 3)}, held);
    const Tensors first = torch::autograd::grad({p.ys[0].sin().sum()}, p.leaves, {}, true, true);
    at::Tensor sum = first[0].square().sum();
    for (std::size_t i = 1; i < first.size(); ++i) sum = sum.add(first[i].square().sum());
    return torch::autograd::grad({sum}, p.leaves);
  };
  for (const Maker& maker : makers(at::kDouble)) {
    SCOPED_TRACE(maker.name);
    const Tensors kept = second(maker, true), again = second(maker, false);
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_LE(kept[i].sub(again[i]).abs().max().item<double>(), 1e-12 * kept[i].abs().max().item<double>());
  }
}

/// A parameter's memory may be elsewhere until backward comes to its own node.
TEST(GivenAgain, ABroadcastOperandIsNotReadAgain) {
  for (const Maker& maker : makers(at::kFloat)) {
    SCOPED_TRACE(maker.name);
    const Vector w = weight(at::kFloat, 3);
    const auto gradient = [&](bool poisoned) {
      const Products p(maker, {w}, false);
      Tensors values;
      for (const Vector& leaf : maker.of) values.push_back(leaf.local().detach().clone());
      for (std::size_t i = 1; poisoned && i < maker.of.size(); ++i)
        if (maker.of[i].local().numel() == kWidth)
          std::fill_n(maker.of[i].local().data_ptr<float>(), kWidth, 1e9F);
      const at::Tensor wbar = torch::autograd::grad(p.ys, {w.local()}, {p.ys[0].detach()})[0];
      for (std::size_t i = 0; i < values.size(); ++i) maker.of[i].local().detach().copy_(values[i]);
      return wbar;
    };
    EXPECT_TRUE(gradient(false).equal(gradient(true)));
  }
}

/// Also where it has as many elements as x, such as a bias beside a single row.
TEST(GivenAgain, AnOperandInLentMemoryIsNotReadAgain) {
  const Vector x = normal_leaf({kRows, kWidth}, at::kFloat), w = weight(at::kFloat, 3);
  std::vector<float> lent(kRows * kWidth, 0.5F);
  const Vector b = replicated(at::from_blob(lent.data(), {kRows, kWidth}, at::kFloat).requires_grad_());
  const auto gradient = [&](const std::function<Vector()>& make, float meanwhile) {
    const at::Tensor y = product(make(), w, {}).local();  // nobody holds what was made
    std::fill(lent.begin(), lent.end(), meanwhile);
    const at::Tensor wbar = torch::autograd::grad({y}, {w.local()}, {at::ones_like(y)})[0];
    std::fill(lent.begin(), lent.end(), 0.5F);
    return wbar;
  };
  const auto sum = [&] {
    return pointwise(
        "sum", [](auto a, auto c) { return a + c; }, x, b);
  };
  EXPECT_TRUE(gradient(sum, 1e9F).equal(gradient(sum, 0.5F)));
  const auto activated = [&] { return gelu(b); };
  EXPECT_TRUE(gradient(activated, 1e9F).equal(gradient(activated, 0.5F)));
  const Vector scale = normal_leaf({kWidth}, at::kFloat);
  const auto normed = [&] { return replicated(detail::row_norm(b.local(), scale.local(), {}, 1e-5)); };
  EXPECT_TRUE(gradient(normed, 1e9F).equal(gradient(normed, 0.5F)));
}

/// Where its own node has no part in a backward, for the leaf of x needs no gradient in it.
TEST(GivenAgain, TheLastReaderLetsGoOfIt) {
  const Vector first = weight(at::kFloat, 3), second = weight(at::kFloat, 4);
  const Products all(makers(at::kFloat)[0], {first, second}, false);
  const Tensors ybars{all.ys[0].detach().sin(), all.ys[1].detach().sin()};
  const MemoryMeter meter;
  const Tensors wbars =
      torch::autograd::grad(all.ys, {first.local(), second.local()}, ybars, /*retain_graph=*/true);
  EXPECT_EQ(MemoryMeter::alive(), 2 * 4 * kOut * kWidth) << "the two gradients alone";
}

/// When the region runs again its argument comes from no node.
TEST(GivenAgain, ARegionKeepsItsArgument) {
  const Vector x = normal_leaf({kRows, kWidth}, at::kFloat), w = weight(at::kFloat, 3);
  const auto region = [&](const Vector& v) { return product(v, w, {}); };
  const auto gradients = [&](bool again) {
    const Chain chain;
    const Vector y = again ? recompute(region, gelu(x)) : region(gelu(x));
    backward(y, Vector(dual(y.space()), at::ones_like(y.local())));
    Tensors all{x.local().grad().clone(), w.local().grad().clone()};
    x.local().mutable_grad().reset(), w.local().mutable_grad().reset();
    return all;
  };
  const Tensors plain = gradients(false);
  expect_same_bits(gradients(true), plain);
}

TEST(GivenAgain, AnEditOfItChangesNothingThatWasRead) {
  const Maker maker = makers(at::kFloat)[0];
  const Vector w = weight(at::kFloat, 3);
  const Tensors expected = Products(maker, {w}, true).gradients();
  const Products after(maker, {w}, true);
  {
    const at::NoGradGuard no_gradient;
    after.holder->local().add_(1);
  }
  expect_same_bits(after.gradients(), expected);

  at::Tensor y, read;
  {
    const Vector x =
        maker.make(maker.of);  // written to before it is read, and let go of: kept as it was read
    {
      const at::NoGradGuard no_gradient;
      x.local().add_(1);
    }
    read = x.local().detach().clone();
    y = product(x, w).local();
  }
  const at::Tensor ybar = y.detach().sin();
  const at::Tensor wbar = torch::autograd::grad({y}, {w.local()}, {ybar})[0];
  EXPECT_TRUE(wbar.allclose(ybar.t().mm(read), 1e-5, 1e-5));
}

TEST(GivenAgain, AnEditOfWhatItIsMadeOfIsRefused) {
  Maker maker = makers(at::kFloat)[0];
  const at::Tensor z = maker.of[0].local().mul(1);
  maker.of[0] = replicated(z);
  const Vector w = weight(at::kFloat, 3);
  const Products again(maker, {w}, false);
  z.detach().add_(1);
  try {
    again.gradients();
    FAIL() << "of a z that was written to";
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("modified by an inplace operation"));
  }
}

/// A gradient is written over ȳ where nobody else has that.
TEST(GivenAgain, TheGradientOfAnActivationTakesNoMemoryOfItsOwn) {
  const at::Tensor z = normal_leaf({kRows, kWidth}, at::kFloat).local();
  const at::Tensor y = gelu(replicated(z)).local(), negated = y.neg();
  const at::Tensor ybar = y.detach().sin(), same = ybar.clone(), opposite = ybar.neg();
  const at::Tensor theirs = torch::autograd::grad({y}, {z}, {ybar}, true)[0];
  EXPECT_TRUE(ybar.equal(same));  // somebody has it
  const MemoryMeter meter;
  const at::Tensor ours = torch::autograd::grad({negated}, {z}, {opposite})[0];
  EXPECT_EQ(MemoryMeter::peak(), static_cast<std::int64_t>(z.nbytes()));
  EXPECT_TRUE(ours.equal(theirs));
}

}  // namespace
}  // namespace riesz::testing
