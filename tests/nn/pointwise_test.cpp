// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/pointwise.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "expect.h"
#include "riesz/comm/error.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/pointwise/record.h"
#include "riesz/nn/pointwise/strips.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

/// A formula, and the same in torch's operators.
struct Case {
  std::string name;
  detail::Formula formula;
  std::function<at::Tensor(const Tensors&)> torch;
  std::size_t inputs = 1;
};

template <std::size_t N, typename F>
Case of(const std::string& name, F f, std::function<at::Tensor(const Tensors&)> torch) {
  return {name, detail::formula<N>(name, f), std::move(torch), N};
}

std::vector<Case> cases() {
  return {
      of<1>(
          "exp", [](auto x) { return exp(x); }, [](const Tensors& x) { return at::exp(x[0]); }),
      of<1>(
          "log", [](auto x) { return log(x * x + 0.1); },
          [](const Tensors& x) { return at::log(x[0] * x[0] + 0.1); }),
      of<1>(
          "tanh", [](auto x) { return tanh(x); }, [](const Tensors& x) { return at::tanh(x[0]); }),
      of<1>(
          "erf", [](auto x) { return erf(x); }, [](const Tensors& x) { return at::erf(x[0]); }),
      of<1>(
          "normal_cdf", [](auto x) { return normal_cdf(x); },
          [](const Tensors& x) { return at::erf(x[0] * std::sqrt(0.5)).add(1).mul(0.5); }),
      of<1>(
          "sqrt", [](auto x) { return sqrt(1 + square(x)); },
          [](const Tensors& x) { return at::sqrt(x[0] * x[0] + 1); }),
      of<1>(
          "rsqrt", [](auto x) { return rsqrt(1 + pow(x, 4)); },
          [](const Tensors& x) { return at::rsqrt(x[0].pow(4) + 1); }),
      of<1>(
          "abs", [](auto x) { return abs(x); }, [](const Tensors& x) { return at::abs(x[0]); }),
      of<1>(
          "sigmoid", [](auto x) { return sigmoid(x); }, [](const Tensors& x) { return at::sigmoid(x[0]); }),
      of<1>(
          "a branch", [](auto x) { return where(x < 0.3 && !(x <= -1.0), -x, 3.0); },
          [](const Tensors& x) {
            return at::where(x[0].lt(0.3).logical_and(x[0].gt(-1)), -x[0], at::full_like(x[0], 3));
          }),
      of<1>(
          "a step without a slope", [](auto x) { return where(x >= 0.5 || x == 0.25, 2.0, x * 0.0); },
          [](const Tensors& x) { return at::where(x[0].ge(0.5), at::full_like(x[0], 2), x[0] * 0); }),
      of<2>(
          "silu_times", [](auto g, auto u) { return g / (1 + exp(-g)) * u; },
          [](const Tensors& x) { return x[0] * at::sigmoid(x[0]) * x[1]; }),
      of<2>(
          "max", [](auto a, auto b) { return max(a, b) - 2 * min(b, 0.7); },
          [](const Tensors& x) {
            return at::maximum(x[0], x[1]) - at::minimum(x[1], at::full_like(x[1], 0.7)) * 2;
          }),
      of<3>(
          "three", [](auto a, auto b, auto c) { return (a - b) / (2 + c * c) + b; },
          [](const Tensors& x) { return (x[0] - x[1]) / (x[2] * x[2] + 2) + x[1]; }),
      of<1>(
          "slopes that are no powers of two", [](auto x) { return where(x < 0.0, 0.01 * x, 1.3 * x); },
          [](const Tensors& x) { return at::where(x[0].lt(0), x[0] * 0.01, x[0] * 1.3); }),
  };
}

Case named(const std::string& name) {
  for (const Case& each : cases())
    if (each.name == name) return each;
  throw Error("there is no case " + name);
}

Tensors inputs_of(const Case& c, const std::vector<std::vector<std::int64_t>>& shapes) {
  Tensors inputs;
  for (std::size_t i = 0; i < c.inputs; ++i) inputs.push_back(draws(shapes[i % shapes.size()], 10 + i));
  return inputs;
}

/// y and all gradients of fp64 and of these types, against torch in fp64 of the rounded inputs.
void expect_torchs(const Case& c, const Tensors& given, at::ScalarType type) {
  SCOPED_TRACE(c.name + " of " + at::toString(type));
  Tensors xs, exact;
  for (const at::Tensor& each : given) {
    xs.push_back(each.to(type).detach().requires_grad_());
    exact.push_back(xs.back().detach().to(at::kDouble).requires_grad_());
  }
  const at::Tensor y = detail::recorded_pointwise(c.formula, xs);
  const at::Tensor expected = c.torch(exact);
  const at::Tensor ybar = draws(y.sizes().vec(), 3).to(type);
  const Tensors found = torch::autograd::grad({y}, xs, {ybar});
  const Tensors wanted = torch::autograd::grad({expected}, exact, {ybar.to(at::kDouble)}, {}, false, true);

  const double bound = type == at::kDouble ? 1e-13 : type == at::kFloat ? 2e-6 : 1.01 * unit_roundoff(type);
  EXPECT_EQ(y.scalar_type(), type);
  EXPECT_TRUE(is_close(y.to(at::kDouble), expected, bound));
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const at::Tensor of_torch = wanted[i].defined() ? wanted[i] : at::zeros_like(exact[i]);
    EXPECT_EQ(found[i].scalar_type(), type);
    EXPECT_TRUE(is_close(found[i].to(at::kDouble), of_torch, bound)) << "gradient " << i;
  }
}

/// For the time of a test, parts of few elements, so that there are many.
class SmallParts {
 public:
  explicit SmallParts(std::int64_t elements) : before_(detail::elements_of_part) {
    detail::elements_of_part = elements;
  }
  ~SmallParts() { detail::elements_of_part = before_; }

 private:
  std::int64_t before_;
};

constexpr auto kTypes = {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf};

TEST(Pointwise, IsTorchsInAllTypes) {
  for (const Case& c : cases())
    for (const at::ScalarType type : kTypes)
      for (const std::int64_t n : {0, 1, 7, 16, 45}) expect_torchs(c, inputs_of(c, {{3, n}}), type);
}

TEST(Pointwise, IsTheSameInPartsOfAnySize) {
  for (const std::int64_t elements : {1, 5, 64}) {
    const SmallParts small(elements);
    for (const Case& c : cases()) expect_torchs(c, inputs_of(c, {{5, 67}}), at::kFloat);
  }
}

TEST(Pointwise, BroadcastsAndSumsItsGradients) {
  const std::vector<std::vector<std::vector<std::int64_t>>> shapes = {
      {{70, 5}, {5}, {70, 1}}, {{3, 70, 5}, {70, 1}, {3, 1, 5}},
      {{4, 33}, {1}, {}},      {{2, 3, 4}, {3, 1}, {1, 3, 1}},
      {{2100}, {1}, {}},       {{0, 5}, {5}, {1}},
      {{1, 1}, {1}, {}}};
  for (const std::int64_t elements : {std::int64_t{3}, std::int64_t{1} << 14}) {
    const SmallParts small(elements);
    for (const Case& c : cases()) {
      if (c.inputs == 1) continue;
      for (const auto& each : shapes) expect_torchs(c, inputs_of(c, each), at::kDouble);
    }
  }
}

TEST(Pointwise, ReadsStridedTensors) {
  const Case c = named("three");
  const at::Tensor all = draws({7, 6, 20}, 4);
  expect_torchs(c, {all.transpose(0, 2), all.transpose(0, 2), draws({20, 6, 7}, 5)}, at::kFloat);
  // The loop goes along x's memory, so the sums of the second one's gradient lie six elements apart.
  expect_torchs(named("silu_times"), {all.transpose(1, 2), draws({20, 6}, 5)}, at::kDouble);
  for (const at::ScalarType type : kTypes) {
    const at::Tensor x = all.to(type);
    const Tensors xs = {x.slice(2, 1, 20, 3), x.slice(2, 0, 7),
                        x.select(2, 3).unsqueeze(-1).expand({7, 6, 7})};
    const at::Tensor y = detail::recorded_pointwise(c.formula, xs);
    const Tensors dense = {xs[0].contiguous(), xs[1].contiguous(), xs[2].contiguous()};
    EXPECT_TRUE(y.equal(detail::recorded_pointwise(c.formula, dense)));
  }
  const at::Tensor turned = all.permute({1, 2, 0});
  EXPECT_EQ(detail::recorded_pointwise(named("exp").formula, {turned}).strides(), turned.strides());
}

TEST(Pointwise, ComputesMixedTypesInTheWider) {
  const Case c = named("silu_times");
  const at::Tensor g = draws({4, 9}, 6).to(at::kBFloat16).requires_grad_();
  const at::Tensor u = draws({9}, 7).to(at::kFloat).requires_grad_();
  const at::Tensor y = detail::recorded_pointwise(c.formula, {g, u});
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  const Tensors found = torch::autograd::grad({y}, {g, u}, {at::ones_like(y)});
  EXPECT_EQ(found[0].scalar_type(), at::kBFloat16);
  EXPECT_EQ(found[1].scalar_type(), at::kFloat);
  EXPECT_TRUE(is_close(found[1].to(at::kDouble), (g * at::sigmoid(g.to(at::kDouble))).sum(0), 1e-6));
}

TEST(Pointwise, IsDifferentiableAgain) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto twice = [&](const std::function<at::Tensor(const Tensors&)>& f) {
      Tensors xs;
      for (const at::Tensor& x : inputs_of(c, {{3, 5}, {5}})) xs.push_back(x.requires_grad_());
      const Tensors first = torch::autograd::grad({f(xs)}, xs, {draws({3, 5}, 3)}, true, true, true);
      at::Tensor sum = at::zeros({}, at::kDouble);
      for (std::size_t i = 0; i < first.size(); ++i)
        if (first[i].defined()) sum = sum + (first[i] * draws(first[i].sizes().vec(), 30 + i)).sum();
      Tensors second = first;
      if (sum.requires_grad())
        for (const at::Tensor& each : torch::autograd::grad({sum}, xs, {}, {}, false, true))
          second.push_back(each);
      return second;
    };
    const Tensors found = twice([&](const Tensors& xs) { return detail::recorded_pointwise(c.formula, xs); });
    const Tensors wanted = twice(c.torch);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (i >= found.size() || !found[i].defined()) {
        EXPECT_TRUE(!wanted[i].defined() || wanted[i].abs().max().item<double>() < 1e-12);
      } else if (wanted[i].defined()) {
        EXPECT_TRUE(is_close(found[i], wanted[i], 1e-11)) << i;
      }
    }
  }
}

TEST(Pointwise, GivesTheSameBitsWithAnyNumberOfThreads) {
  const Case c = named("silu_times");
  const auto all = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor g = draws({1200, 61}, 1).to(at::kFloat).requires_grad_();
    const at::Tensor u = draws({61}, 2).to(at::kFloat).requires_grad_();
    const at::Tensor y = detail::recorded_pointwise(c.formula, {g, u});
    Tensors results = torch::autograd::grad({y}, {g, u}, {at::ones_like(y)});
    results.push_back(y.detach());
    return results;
  };
  const int before = at::get_num_threads();
  const Tensors one = all(1), three = all(3);
  at::set_num_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(three[i])) << i;
}

TEST(Pointwise, IsFiniteWhereAnExpOverflows) {
  const at::Tensor x = at::full({3}, -200.0, at::kFloat).requires_grad_();
  const at::Tensor y = detail::recorded_pointwise(named("silu_times").formula, {x, at::ones({3})});
  EXPECT_EQ(y.abs().max().item<float>(), 0);
  EXPECT_EQ(torch::autograd::grad({y}, {x}, {at::ones({3})})[0].abs().max().item<float>(), 0);
}

TEST(Pointwise, HasShapesWithoutValues) {
  const WithoutValues none;
  const at::Tensor x = at::ones({4, 3}).requires_grad_();
  const at::Tensor b = at::ones({3}).requires_grad_();
  const at::Tensor y = detail::recorded_pointwise(named("silu_times").formula, {x, b});
  EXPECT_EQ(y.sizes(), x.sizes());
  const Tensors gradients = torch::autograd::grad({y}, {x, b}, {at::ones({4, 3})});
  EXPECT_EQ(gradients[1].sizes(), b.sizes());
}

TEST(Pointwise, LiesWhereTheVectorsLie) {
  for (const Partition& mesh : meshes()) {
    const Space X = Space(mesh, {5, 3, 7}).sharded(0, "dp").sharded(2, "tp");
    const at::Tensor h = draws({5, 3, 7}, 1).requires_grad_(), b = draws({7}, 2).requires_grad_();
    const at::Tensor ybar = draws({5, 3, 7}, 3);
    Chain chain;
    const Vector hs = leaf(X, h.detach());
    const Vector bs = leaf(Space(mesh, {7}).sharded(0, "tp"), b.detach());
    const Vector y = pointwise(
        "bias_relu", "btc,c", [](auto x, auto c) { return max(x + c, 0.0); }, hs, bs);
    const std::vector<Vector> gradients = pullback(y, distribute(dual(X), ybar), {hs, bs});

    const at::Tensor expected = at::relu(h + b);
    const Tensors wanted = torch::autograd::grad({expected}, {h, b}, {ybar});
    EXPECT_TRUE(means(y, expected));
    EXPECT_TRUE(means(gradients[0], wanted[0]));
    EXPECT_TRUE(means(gradients[1], wanted[1]));
  }
}

TEST(Pointwise, SaysWhatItTakes) {
  const Space X = Space(Partition::simulated(2), {4}).sharded(0, "world");
  const auto sum = [](auto a, auto b) { return a + b; };
  const Vector x = distribute(X, at::ones({4}));
  EXPECT_ERROR(pointwise("sum", sum, x, distribute(Space(X).replicated("world"), at::ones({4}))),
               "pointwise sum needs vectors of one space", "between(X, Y)");
  EXPECT_ERROR(pointwise("sum", sum, x, distribute(X, at::ones({4}, at::kLong))), "of elements of Long",
               "cast(x, type)");
  EXPECT_ERROR(pointwise("sum", "b", sum, x, x), "1 groups of indices, for 2 vectors", "\"btc,c\"");
  const Vector terms = distribute(Space(Partition::simulated(2), {4}).partial("world"), at::ones({4}));
  EXPECT_ERROR(pointwise("sum", sum, terms, terms), "sum of a vector that is Partial on axis world");
}

}  // namespace
}  // namespace riesz::testing
