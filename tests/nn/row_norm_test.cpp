// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/row_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rms_norm.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "few_rows.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

/// x, weight and bias of n columns; RMSNorm has no bias.
Tensors operands(const Shape& shape, bool with_bias) {
  const std::int64_t n = shape.back();
  Tensors all{floats(shape).mul(3).add(1), floats({n})};
  if (with_bias) all.push_back(floats({n}));
  return all;
}

Tensors in_type(const Tensors& all, at::ScalarType type) {
  Tensors leaves;
  for (const at::Tensor& each : all) leaves.push_back(each.to(type, false, true).requires_grad_());
  return leaves;
}

using Function = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&, double);

at::Tensor value(Function f, const Tensors& of) {
  return f(of[0], of[1], of.size() > 2 ? of[2] : at::Tensor(), 1e-2);
}

Tensors value_and_gradients(Function f, const Tensors& of, const at::Tensor& ybar, bool again = false) {
  const at::Tensor y = value(f, of);
  Tensors all = torch::autograd::grad({y}, of, {ybar}, again, again);
  all.insert(all.begin(), y);
  return all;
}

double unit_of(at::ScalarType type) {
  return type == at::kDouble ? 1e-14 : (type == at::kFloat ? 6e-8 : (type == at::kHalf ? 5e-4 : 4e-3));
}

/// The largest of the terms whose sum is the gradient of x: where they cancel, it has their rounding errors.
double largest_term(const Tensors& of, const at::Tensor& ybar) {
  const at::Tensor middle = of.size() > 2 ? of[0].mean(-1, true) : of[0].new_zeros({});
  const at::Tensor scale = of[0].sub(middle).square().mean(-1, true).add(1e-2).rsqrt();
  return largest(ybar.mul(of[1]).mul(scale).detach());
}

/// Value and gradients are those of the operators in fp64, of the numbers as the type has them.
void expect_operators(const Tensors& all, at::ScalarType type) {
  const Tensors here = in_type(all, type), exact = in_type(here, at::kDouble);
  const at::Tensor ybar = floats(all[0].sizes().vec()).to(type);
  const Tensors found = value_and_gradients(detail::row_norm, here, ybar);
  const Tensors wanted = value_and_gradients(detail::row_norm_by_operators, exact, ybar.to(at::kDouble));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].scalar_type(), type);
    ASSERT_EQ(found[i].sizes(), wanted[i].sizes());
    // A rounding to the type, and those of fp32 in sums over rows or columns.
    const double size = largest(wanted[i].detach()), of_fp32 = type == at::kDouble ? 1e-14 : 5e-7;
    const double terms = i == 1 ? largest_term(exact, ybar.to(at::kDouble)) : size;
    EXPECT_LE(largest(found[i].detach().to(at::kDouble).sub(wanted[i])),
              1.01 * unit_of(type) * size + of_fp32 * std::max(size, terms))
        << (i == 0 ? "value" : "gradient ") << i << " of " << type << " of " << all[0].sizes()
        << (all.size() > 2 ? " with a bias" : "");
  }
}

TEST(RowNorm, AndItsGradientsAreTheOperatorsInFp64) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf})
    for (const bool with_bias : {false, true})
      for (const Shape& shape :
           {Shape{2, 3, 1}, {1, 1, 7}, {5, 2, 16}, {3, 50, 37}, {2, 70, 129}, {2, 1, 3001}})
        expect_operators(operands(shape, with_bias), type);
}

TEST(RowNorm, TakesRowsThatLieInLargerMemory) {
  at::manual_seed(2);
  for (const bool with_bias : {false, true}) {
    const Tensors all = operands({2, 3, 21}, with_bias);
    Tensors lying = all;
    lying[0] = in_a_room(all[0]);
    spoil({2, 3, 21});
    EXPECT_TRUE(value(detail::row_norm, lying).equal(value(detail::row_norm, all)));
    const at::Tensor ybar = floats({2, 3, 21});
    lying[0].requires_grad_(), all[0].requires_grad_();
    const at::Tensor of_lying =
        torch::autograd::grad({value(detail::row_norm, lying)}, {lying[0]}, {in_a_room(ybar)})[0];
    EXPECT_TRUE(of_lying.equal(torch::autograd::grad({value(detail::row_norm, all)}, {all[0]}, {ybar})[0]));
  }
}

TEST(RowNorm, IsTorchsOfExactSums) {
  at::manual_seed(1);
  for (const std::int64_t n : {1, 7, 16, 37, 576}) {
    const at::Tensor x = integers({2, 3, n}).add(1), w = floats({n});
    for (const at::Tensor& lying : {x, in_a_room(x)})
      EXPECT_TRUE(detail::row_norm(lying, w, {}, 1e-2).equal(at::rms_norm(x, {n}, w, 1e-2)))
          << n << " columns";
  }
}

/// Where the weights are frozen, x's gradient has the same bits, and no parts of theirs are made.
TEST(RowNorm, OfFrozenWeightsMakesNoGradientOfThem) {
  for (const bool with_bias : {false, true}) {
    const Tensors all = in_type(operands({300, 67}, with_bias), at::kFloat);
    const at::Tensor ybar = floats({300, 67});
    const auto gradient_and_peak = [&](const Tensors& of) {
      const at::Tensor y = value(detail::row_norm, all);
      const MemoryMeter meter;
      const at::Tensor xbar = torch::autograd::grad({y}, of, {ybar})[0];
      return std::pair(xbar, MemoryMeter::peak());
    };
    const auto [trained, with_theirs] = gradient_and_peak(all);
    for (std::size_t i = 1; i < all.size(); ++i) all[i].requires_grad_(false);
    const auto [frozen, peak] = gradient_and_peak({all[0]});
    EXPECT_TRUE(frozen.equal(trained));
    EXPECT_EQ(peak, static_cast<std::int64_t>(frozen.nbytes()));
    EXPECT_GT(with_theirs, peak);
  }
}

/// A row has the same bits wherever it lies among others.
TEST(RowNorm, OfARowDoesNotDependOnTheOthers) {
  for (const bool with_bias : {false, true}) {
    const Tensors all = in_type(operands({70, 1000}, with_bias), at::kFloat);
    const at::Tensor ybar = floats({70, 1000});
    Tensors last = all;
    last[0] = all[0].detach().narrow(0, 65, 5).clone().requires_grad_();
    const Tensors of_all = value_and_gradients(detail::row_norm, all, ybar);
    const Tensors of_last = value_and_gradients(detail::row_norm, last, ybar.narrow(0, 65, 5));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(of_all[i].narrow(0, 65, 5).equal(of_last[i])) << i;
  }
}

/// A lazily negated gradient is read as what it means.
TEST(RowNorm, ReadsAGradientThatIsNegatedLazily) {
  const Tensors all = in_type(operands({5, 33}, true), at::kFloat);
  const at::Tensor ybar = floats({5, 33});
  const auto gradients = [&](const at::Tensor& of_y) {
    return torch::autograd::grad({value(detail::row_norm, all)}, all, {of_y});
  };
  const Tensors lazy = gradients(at::_neg_view(ybar)), wanted = gradients(ybar.neg());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(lazy[i].equal(wanted[i])) << i;
}

/// The operators' bits where the kernel cannot read x, such as of a lazy negation, or of several types.
TEST(RowNorm, LeavesToTorchWhatItCannotRead) {
  const at::Tensor x = floats({2, 3, 16}), w = floats({16}), b = floats({16});
  const auto same = [&](const at::Tensor& of, const at::Tensor& weight, const at::Tensor& bias) {
    return detail::row_norm(of, weight, bias, 1e-2)
        .equal(detail::row_norm_by_operators(of, weight, bias, 1e-2));
  };
  EXPECT_TRUE(same(at::_neg_view(x), w, {}));
  EXPECT_TRUE(same(x.to(at::kBFloat16), w, b));
  EXPECT_EQ(detail::row_norm(floats({0, 16}), w, b, 1e-2).sizes(), (Shape{0, 16}));
}

/// A row of NaN or infinity is NaN where torch's is, and no other row is.
TEST(RowNorm, OfARowThatIsNotFiniteIsNotANumberWhereTorchsIs) {
  at::manual_seed(3);
  for (const bool with_bias : {false, true}) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const Tensors all = operands({1, 4, 19}, with_bias);
      all[0][0][1][18] = bad, all[0][0][2][3] = bad;
      const Tensors leaves = in_type(all, at::kFloat);
      const at::Tensor ybar = floats({1, 4, 19});
      const Tensors here = value_and_gradients(detail::row_norm, leaves, ybar);
      const Tensors there = value_and_gradients(detail::row_norm_by_operators, leaves, ybar);
      for (std::size_t i = 0; i < here.size(); ++i)
        EXPECT_TRUE(here[i].isnan().equal(there[i].isnan())) << bad << " " << i << "\n"
                                                             << here[i] << there[i];
    }
  }
}

TEST(RowNorm, HasTheSameBitsInAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const bool with_bias : {false, true}) {
    const Tensors all = in_type(operands({5, 900, 33}, with_bias), at::kFloat);
    const at::Tensor ybar = floats({5, 900, 33});
    at::set_num_threads(1);
    const Tensors one = value_and_gradients(detail::row_norm, all, ybar);
    for (const int threads : {2, 3, 5}) {
      at::set_num_threads(threads);
      const Tensors several = value_and_gradients(detail::row_norm, all, ybar);
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_TRUE(one[i].equal(several[i])) << threads << " " << i;
    }
    at::set_num_threads(before);
  }
}

TEST(RowNorm, HasTheOperatorsSecondDerivatives) {
  at::manual_seed(4);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const bool with_bias : {false, true}) {
      const Tensors all = operands({2, 3, 11}, with_bias);
      const at::Tensor direction = floats({2, 3, 11});
      const auto second = [&](Function f, at::ScalarType of) {
        const Tensors leaves = in_type(in_type(all, type), of);
        const at::Tensor ybar = direction.to(type).to(of).requires_grad_();
        const Tensors first = value_and_gradients(f, leaves, ybar, true);
        Tensors by{leaves[0], leaves[1], ybar};
        return torch::autograd::grad({first[1].mul(first[1]).sum().add(first[2].mul(first[2]).sum())}, by);
      };
      const Tensors found = second(detail::row_norm, type);
      const Tensors wanted = second(detail::row_norm_by_operators, at::kDouble);
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_LE(largest(found[i].to(at::kDouble).sub(wanted[i])),
                  (type == at::kFloat ? 2e-6 : 3e-2) * largest(wanted[i]))
            << i << " of " << type;
    }
  }
}

}  // namespace
}  // namespace riesz::testing
