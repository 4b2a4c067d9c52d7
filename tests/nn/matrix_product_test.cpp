// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Of small integers, whose products and sums fp32 holds exactly: both ways to multiply give the same numbers.
#include "riesz/nn/matrix_product.h"

#include <ATen/Context.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace riesz {
namespace {

at::Tensor integers(std::int64_t m, std::int64_t n) {
  return at::randint(-8, 9, {m, n}, at::TensorOptions().dtype(at::kFloat));
}

using Lying = std::pair<const char*, std::function<at::Tensor(std::int64_t, std::int64_t)>>;

/// A matrix of random integers that lies in memory in each of the ways that views of tensors do.
const std::vector<Lying>& lying() {
  static const std::vector<Lying> ways{
      {"rows", integers},
      {"columns", [](std::int64_t m, std::int64_t n) { return integers(n, m).t(); }},
      {"a part of rows", [](std::int64_t m, std::int64_t n) { return integers(m, n + 5).narrow(1, 3, n); }},
      {"a part of columns",
       [](std::int64_t m, std::int64_t n) { return integers(n, m + 5).narrow(1, 3, m).t(); }},
      {"one row for all",
       [](std::int64_t m, std::int64_t n) {
         return integers(1, n).expand({m, n});
       }},
      {"one column for all",
       [](std::int64_t m, std::int64_t n) {
         return integers(m, 1).expand({m, n});
       }},
      {"every second of a row",
       [](std::int64_t m, std::int64_t n) { return integers(m, 2 * n).slice(1, 0, 2 * n, 2); }},
  };
  return ways;
}

at::Tensor exact(const at::Tensor& a, const at::Tensor& b) {
  return at::mm(a.to(at::kDouble), b.to(at::kDouble)).to(at::kFloat);
}

/// Frees memory full of NaN, where a product is made next.
void spoil(std::int64_t m, std::int64_t n) { at::full({m, n}, std::numeric_limits<float>::quiet_NaN()); }

// Small; large; a vector's, of as many operations; large and odd.
constexpr std::array<std::array<std::int64_t, 3>, 4> kSizes{
    {{5, 7, 3}, {256, 512, 384}, {1, 4096, 4100}, {257, 515, 303}}};

TEST(MatrixProduct, IsThatOfMatricesHoweverTheyLie) {
  at::manual_seed(1);
  for (const auto& [m, k, n] : kSizes) {
    for (const Lying& of_a : lying()) {
      for (const Lying& of_b : lying()) {
        const at::Tensor a = of_a.second(m, k);
        const at::Tensor b = of_b.second(k, n);
        spoil(m, n);
        EXPECT_TRUE(matrix_product(a, b).equal(exact(a, b)))
            << m << " x " << k << " x " << n << ", " << of_a.first << " times " << of_b.first;
        const at::Tensor before = integers(m, n);
        at::Tensor c = before.clone();
        add_matrix_product(a, b, c);
        EXPECT_TRUE(c.equal(before.add(exact(a, b))))
            << "added: " << m << " x " << k << " x " << n << ", " << of_a.first << " times " << of_b.first;
      }
    }
  }
}

TEST(MatrixProduct, WithoutOneDnnIsTheSame) {
  at::manual_seed(1);
  const at::Tensor a = integers(300, 400);
  const at::Tensor b = integers(400, 500);
  const at::Tensor c = matrix_product(a, b);
  at::globalContext().setUserEnabledMkldnn(false);
  EXPECT_TRUE(matrix_product(a, b).equal(c));
  at::globalContext().setUserEnabledMkldnn(true);
}

TEST(MatrixProduct, OfOtherTypes) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kComplexDouble, at::kBFloat16}) {
    const at::Tensor a = at::randint(-2, 3, {256, 300}).to(type);
    const at::Tensor b = at::randint(-2, 3, {300, 256}).to(type);
    EXPECT_TRUE(matrix_product(a, b).equal(at::mm(a, b))) << at::toString(type);
  }
}

}  // namespace
}  // namespace riesz
