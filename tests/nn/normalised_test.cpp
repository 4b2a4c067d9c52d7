// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "expect.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

using torch::autograd::grad;
using torch::autograd::variable_list;

/// x (4, 3, 5), mean and scale (4, 3, 1), weight and bias (5), in a type; leaves.
variable_list operands(at::ScalarType type) {
  variable_list all{draws({4, 3, 5}, 1), draws({4, 3, 1}, 2), draws({4, 3, 1}, 3), draws({5}, 4),
                    draws({5}, 5)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool moment = i == 1 || i == 2;
    all[i] = all[i].to(moment && type != at::kDouble ? at::kFloat : type).requires_grad_();
  }
  return all;
}

at::Tensor ours(const variable_list& of) { return detail::normalised(of[0], {of[1], of[2], of[3], of[4]}); }
at::Tensor torchs(const variable_list& of) { return of[0].sub(of[1]).mul(of[2]).mul(of[3]).add(of[4]); }
at::Tensor our_squares(const variable_list& of) { return detail::squared_deviations(of[0], of[1]); }
at::Tensor torchs_squares(const variable_list& of) { return of[0].sub(of[1]).square().sum({-1}); }

/// f's gradients by all it depends on, and those of a function of these gradients.
variable_list derivatives(at::Tensor (*f)(const variable_list&), const variable_list& of) {
  const at::Tensor y = f(of);
  variable_list all = grad({y}, of, {draws(y.sizes().vec(), 6)}, true, true, true);
  at::Tensor sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined()) continue;
    const at::Tensor part = all[i].mul(draws(all[i].sizes().vec(), 10 + i)).sum();
    sum = sum.defined() ? sum.add(part) : part;
  }
  for (const at::Tensor& second : grad({sum}, of, {}, true, false, true)) all.push_back(second);
  return all;
}

void expect_same(at::Tensor (*f)(const variable_list&), at::Tensor (*g)(const variable_list&)) {
  const variable_list of = operands(at::kDouble);
  EXPECT_TRUE(at::allclose(f(of), g(of), 1e-13, 1e-13));
  const variable_list here = derivatives(f, of), there = derivatives(g, of);
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    ASSERT_EQ(here[i].defined(), there[i].defined()) << i;
    if (!here[i].defined()) continue;
    EXPECT_TRUE(at::allclose(here[i], there[i], 1e-12, 1e-12)) << i;
  }
}

TEST(Normalised, IsTorchsOperationsWithTwoDerivatives) {
  expect_same(ours, torchs);
  expect_same(our_squares, torchs_squares);
}

TEST(Normalised, TakesNeitherMeanNorBias) {
  expect_same(
      [](const variable_list& of) {
        return detail::normalised(of[0], {{}, of[2], of[3], {}});
      },
      [](const variable_list& of) { return of[0].mul(of[2]).mul(of[3]); });
  expect_same([](const variable_list& of) { return detail::squared_deviations(of[0], {}); },
              [](const variable_list& of) { return of[0].square().sum({-1}); });
}

TEST(Normalised, OfHalfTypesHasTheGradientsOfFloats) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const variable_list of = operands(type);
    variable_list floats;
    for (const at::Tensor& x : of) floats.push_back(x.detach().to(at::kFloat).requires_grad_());
    const at::Tensor y = ours(of), exact = torchs(floats);
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_EQ(our_squares(of).scalar_type(), at::kFloat);
    const at::Tensor ybar = draws(y.sizes().vec(), 6).to(type);
    const variable_list here = grad({y}, of, {ybar}), there = grad({exact}, floats, {ybar.to(at::kFloat)});
    for (std::size_t i = 0; i < of.size(); ++i) {
      EXPECT_EQ(here[i].scalar_type(), of[i].scalar_type());
      EXPECT_TRUE(at::allclose(here[i], there[i].to(here[i].scalar_type()), 1e-5, 1e-5)) << i;
    }
  }
}

/// Copies of weight and bias, of which y is made again.
TEST(Normalised, SavesShortCopiesBesideItsOperands) {
  for (const at::ScalarType type : {at::kDouble, at::kHalf}) {
    const variable_list of = operands(type);
    const MemoryMeter meter;
    const at::Tensor y = ours(of), squares = our_squares(of);
    EXPECT_EQ(MemoryMeter::alive(), y.nbytes() + squares.nbytes() + of[3].nbytes() + of[4].nbytes());
  }
}

}  // namespace
}  // namespace riesz::testing
