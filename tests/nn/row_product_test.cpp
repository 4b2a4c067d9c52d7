// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/row_product.h"

#include <ATen/ops/einsum.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "few_rows.h"
#include "riesz/nn/contraction/product.h"

namespace riesz::testing {
namespace {

/// Of integers, whose sums are exact.
TEST(RowProduct, IsTheFormsProductWhereverItsIndicesLie) {
  at::manual_seed(1);
  const auto expect_product = [](const std::array<const char*, 3>& of, const Shape& a, const Shape& b) {
    const at::Tensor x = integers(a), w = integers(b);
    const std::string form = std::string(of[0]) + "," + of[1] + "->" + of[2];
    const at::Tensor exact = at::einsum(form, {x.to(at::kDouble), w.to(at::kDouble)}).to(at::kFloat);
    spoil(exact.sizes().vec());
    EXPECT_TRUE(detail::local_product(of[0], of[1], of[2], x, w).equal(exact)) << form;
  };
  for (const std::int64_t c : {33, 576}) {
    expect_product({"btc", "fc", "btf"}, {1, 1, c}, {140, c});
    expect_product({"btc", "cf", "btf"}, {1, 1, c}, {c, 140});
    expect_product({"btc", "hdc", "bthd"}, {1, 1, c}, {7, 20, c});
    expect_product({"btc", "hdc", "tbdh"}, {1, 1, c}, {7, 20, c});
    expect_product({"bthd", "chd", "btc"}, {1, 1, 4, 35}, {c, 4, 35});
    expect_product({"bthd", "cdh", "btc"}, {1, 1, 4, 35}, {c, 35, 4});
  }
}

}  // namespace
}  // namespace riesz::testing
