// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table, and the sums of their gradients, beside a loop over the uses.
#include "riesz/nn/layers/table_rows.h"

#include <ATen/Parallel.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

#include "few_rows.h"
#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// x's rows, added one after another in the type in which they are added.
at::Tensor added_plainly(const at::Tensor& x, const at::Tensor& ids, std::int64_t rows) {
  const at::Tensor all = x.to(accumulation_type(x.scalar_type())).reshape({ids.numel(), x.size(-1)});
  const at::Tensor y = at::zeros({rows, x.size(-1)}, all.options()), flat = ids.reshape({-1}).to(at::kLong);
  for (std::int64_t i = 0; i < flat.numel(); ++i) y[flat[i].item<std::int64_t>()].add_(all[i]);
  return y.to(x.scalar_type());
}

/// The same uses, another order of sums would have other bits: many to few rows, of large and small numbers.
at::Tensor gradients(const std::vector<std::int64_t>& shape, at::ScalarType type) {
  return floats(shape).mul(floats(shape).mul(4).exp()).to(type);
}

TEST(TableRows, GradientsOfARowsUsesAreAddedInTheirOrder) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t width : {1, 7, 64, 133}) {
      for (const std::int64_t count : {0, 1, 300}) {
        for (const at::ScalarType of_ids : {at::kLong, at::kInt}) {
          SCOPED_TRACE(concat(count, " ids of ", of_ids, ", ", width, " wide, in ", type));
          const at::Tensor table = floats({9, width}).to(type).requires_grad_();
          const at::Tensor ids = at::randint(8, {2, count}, of_ids),
                           seed = gradients({2, count, width}, type);
          const at::Tensor rows = detail::table_rows(table, ids);
          EXPECT_SAME_BITS(rows.detach(), at::embedding(table, ids).detach());
          rows.backward(seed);
          EXPECT_SAME_BITS(table.grad(), added_plainly(seed, ids, 9));
        }
      }
    }
  }
}

TEST(TableRows, HaveTheSameGradientByAnyNumberOfThreads) {
  at::manual_seed(1);
  const int before = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor ids = at::randint(5, {4, 500}, at::kLong).pow(2), seed = gradients({4, 500, 65}, type);
    const at::Tensor expected = added_plainly(seed, ids, 20);
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      const at::Tensor table = floats({20, 65}).to(type).requires_grad_();
      detail::table_rows(table, ids).backward(seed.transpose(1, 2).contiguous().transpose(1, 2));
      EXPECT_SAME_BITS(table.grad(), expected) << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

TEST(TableRows, HaveASecondDerivative) {
  at::manual_seed(1);
  const at::Tensor table = floats({9, 7}).requires_grad_(), ids = at::randint(9, {40}, at::kLong);
  const at::Tensor seed = floats({40, 7}).requires_grad_(), of_gradient = floats({9, 7});
  detail::table_rows(table, ids).backward(seed, /*retain_graph=*/true, /*create_graph=*/true);
  table.grad().backward(of_gradient);
  EXPECT_SAME_BITS(seed.grad(), at::embedding(of_gradient, ids));
}

}  // namespace
}  // namespace riesz::testing
