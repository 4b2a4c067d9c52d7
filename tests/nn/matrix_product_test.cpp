// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Of integers whose products and sums fp32 holds exactly, and shorter types do not: all ways to multiply give
// the same numbers. Where oneDNN is not used, at::mm is held against itself.
#include "riesz/nn/contraction/matrix_product.h"

#include <ATen/Context.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using detail::add_matrix_product;
using detail::Factor;
using detail::matrix_product;
using detail::write_matrix_product;

at::Tensor integers(std::int64_t m, std::int64_t n, std::int64_t most = 4) {
  return at::randint(-most, most + 1, {m, n}, at::TensorOptions().dtype(at::kFloat));
}

using Lying = std::pair<const char*, std::function<at::Tensor(const at::Tensor&)>>;

/// The same matrix, as it lies in memory in each of the ways that views of tensors do.
const std::vector<Lying>& lying() {
  static const std::vector<Lying> ways{
      {"rows", [](const at::Tensor& x) { return x.clone(); }},
      {"columns", [](const at::Tensor& x) { return x.t().contiguous().t(); }},
      {"a part of rows",
       [](const at::Tensor& x) {
         return at::constant_pad_nd(x, {3, 2}).narrow(1, 3, x.size(1));
       }},
      {"rows from any place in memory",
       [](const at::Tensor& x) {
         return at::constant_pad_nd(x.reshape({-1}), {1, 0}).narrow(0, 1, x.numel()).view_as(x);
       }},
      {"every second of a row",
       [](const at::Tensor& x) {
         return at::stack({x, x}, 2).select(2, 0);
       }},
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
    {{5, 7, 3}, {256, 512, 384}, {1, 4099, 4100}, {257, 515, 303}}};

/// Both stored as they are, and transposed.
std::vector<Factor> factors(const at::Tensor& x) { return {{x, false}, {x.t(), true}}; }

TEST(MatrixProduct, IsThatOfMatricesHoweverTheyLie) {
  at::manual_seed(1);
  for (const auto& [m, k, n] : kSizes) {
    const at::Tensor a = integers(m, k, 4000), b = integers(k, n), before = integers(m, n, 4000);
    const at::Tensor product = exact(a, b);
    for (const Lying& of_a : lying()) {
      for (const Lying& of_b : lying()) {
        for (const Factor& left : factors(of_a.second(a))) {
          for (const Factor& right : factors(of_b.second(b))) {
            SCOPED_TRACE(std::string(of_a.first) + " times " + of_b.first);
            spoil(m, n);
            EXPECT_TRUE(matrix_product(left, right).equal(product)) << m << " x " << k << " x " << n;
            at::Tensor c = before.clone();
            add_matrix_product(left, right, c);
            EXPECT_TRUE(c.equal(before.add(product))) << "added: " << m << " x " << k << " x " << n;
          }
        }
      }
    }
  }
}

TEST(MatrixProduct, IsWrittenWhereItIsTold) {
  at::manual_seed(1);
  for (const auto& [m, k, n] : kSizes) {
    const at::Tensor a = integers(m, k, 4000), b = integers(k, n);
    for (const Factor& left : factors(a)) {
      for (const Factor& right : factors(b)) {
        at::Tensor c = at::full({m + 2, n}, std::numeric_limits<float>::quiet_NaN());
        at::Tensor rows = c.narrow(0, 1, m);
        write_matrix_product(left, right, rows);
        EXPECT_TRUE(c.narrow(0, 1, m).equal(exact(a, b))) << m << " x " << k << " x " << n;
        EXPECT_EQ(c.isnan().sum().item<std::int64_t>(), 2 * n);
      }
    }
  }
}

/// Of expanded vectors, as the gradient of a sum is.
TEST(MatrixProduct, OfOneRowOrColumnForAll) {
  at::manual_seed(1);
  const at::Tensor a = integers(300, 1, 4000).expand({300, 400}), b = integers(1, 500).expand({400, 500});
  EXPECT_TRUE(matrix_product({a}, {b}).equal(exact(a, b)));
  EXPECT_TRUE(matrix_product({a.t(), true}, {b.t(), true}).equal(exact(a, b)));
}

/// Replicas, whose operands are equal but may lie otherwise.
TEST(Contraction, HasTheSameBitsHoweverItsOperandsLie) {
  at::manual_seed(1);
  const Partition alone = Partition::world();
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{64, 512, 544}, {257, 515, 303}, {7, 33, 19}, {1, 301, 403}}) {
    for (const char* spec : {"ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij"}) {
      const detail::Indices indices = detail::parse_indices(spec);
      const at::Tensor a = indices[0] == "ik" ? at::randn({m, k}) : at::randn({k, m});
      const at::Tensor b = indices[1] == "kj" ? at::randn({k, n}) : at::randn({n, k});
      const at::Tensor ybar = at::randn({m, n});
      const auto run = [&](const Lying& of_a, const Lying& of_b) {
        Chain chain;
        const Vector x(Space(alone, a.sizes().vec()), of_a.second(a).requires_grad_());
        const Vector w(Space(alone, b.sizes().vec()), of_b.second(b).requires_grad_());
        const Vector y = contract(spec, x, w, Space(alone, {m, n}));
        const std::vector<Vector> bar = pullback(y, Vector(y.space(), of_a.second(ybar)), {x, w});
        return std::array{y.local(), bar[0].local(), bar[1].local()};
      };
      const auto expected = run(lying().front(), lying().front());
      for (const Lying& of_a : lying()) {
        for (const Lying& of_b : lying()) {
          const auto actual = run(of_a, of_b);
          for (std::size_t face = 0; face < 3; ++face)
            EXPECT_TRUE(actual[face].equal(expected[face]))
                << spec << " of " << m << ", " << k << ", " << n << ", face " << face << ": " << of_a.first
                << " times " << of_b.first;
        }
      }
    }
  }
}

TEST(MatrixProduct, WithoutOneDnnIsTheSame) {
  at::manual_seed(1);
  const at::Tensor a = integers(300, 400, 4000);
  const at::Tensor b = integers(400, 500);
  const at::Tensor c = matrix_product({a}, {b});
  at::globalContext().setUserEnabledMkldnn(false);
  EXPECT_TRUE(matrix_product({a}, {b}).equal(c));
  at::globalContext().setUserEnabledMkldnn(true);
}

TEST(MatrixProduct, OfANegatedViewIsNegative) {
  at::manual_seed(1);
  const at::Tensor a = integers(300, 400), b = integers(400, 500);
  EXPECT_TRUE(matrix_product({at::_neg_view(a)}, {b}).equal(exact(a, b).neg()));
  EXPECT_TRUE(matrix_product({a}, {at::_neg_view(b.t().contiguous()), true}).equal(exact(a, b).neg()));
}

TEST(MatrixProduct, OfOtherTypes) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kComplexDouble, at::kBFloat16}) {
    const at::Tensor a = at::randint(-2, 3, {256, 300}).to(type);
    const at::Tensor b = at::randint(-2, 3, {300, 256}).to(type);
    EXPECT_TRUE(matrix_product({a}, {b}).equal(at::mm(a, b))) << at::toString(type);
  }
}

}  // namespace
}  // namespace riesz
