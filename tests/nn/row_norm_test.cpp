// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/row_norm.h"

#include <ATen/ops/rms_norm.h>
#include <gtest/gtest.h>

#include "few_rows.h"

namespace riesz::testing {
namespace {

TEST(RowNorm, IsTorchsOfExactSumsAndNearItOfOthers) {
  at::manual_seed(1);
  for (const std::int64_t n : {1, 7, 16, 37, 576}) {
    const at::Tensor x = integers({2, 3, n}).add(1), r = floats({2, 3, n}).mul(3), w = floats({n});
    ASSERT_TRUE(detail::is_row_norm(x, w));
    for (const at::Tensor& lying : {x, in_a_room(x)}) {
      spoil({2, 3, n});
      EXPECT_TRUE(detail::row_norm(lying, w, 1e-2).equal(at::rms_norm(x, {n}, w, 1e-2))) << n << " columns";
    }
    const at::Tensor exact = at::rms_norm(r.to(at::kDouble), {n}, w.to(at::kDouble), 1e-5);
    EXPECT_LE(largest(detail::row_norm(r, w, 1e-5).sub(exact)), 1e-6 * largest(exact)) << n << " columns";
  }
  const at::Tensor x = floats({1, 16}), w = floats({16});
  EXPECT_FALSE(detail::is_row_norm(x, w.clone().requires_grad_())) << "its gradient is torch's";
  EXPECT_FALSE(detail::is_row_norm(x.to(at::kDouble), w));
  EXPECT_FALSE(detail::is_row_norm(floats({4096, 16}), w)) << "torch computes them in several threads";
}

}  // namespace
}  // namespace riesz::testing
