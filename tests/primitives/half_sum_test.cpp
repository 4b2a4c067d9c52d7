// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Sums across workers in half types, where the order of roundings would show.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <utility>

#include "riesz/primitives/between.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

/// The sum over the workers of 256 on the first and 1 on each other (2048 in fp16), to the range.
void expect_sums_in_fp32(const Space& X, const Space& Y) {
  const at::NoGradGuard guard;
  const Partition& P = X.partition();
  for (const auto& [type, large] : {std::pair{at::kBFloat16, 256.}, std::pair{at::kHalf, 2048.}}) {
    const at::Tensor term = at::full(X.local_shape(), P.rank() == 0 ? large : 1., type);
    const double exact = large + P.size() - 1;

    const at::Tensor sum = between(X, Y)({X, term}).local();

    EXPECT_SAME_BITS(sum, at::full(Y.local_shape(), exact, at::kFloat).to(type)) << to_string(Y);
  }
}

TEST(HalfSums, AreAddedInFp32AndRoundedOnce) {
  const Partition P = Partition::world();
  const Space X(P, {P.size() + 1});

  expect_sums_in_fp32(X.partial("world"), X);
  expect_sums_in_fp32(X.partial("world"), X.copied("world"));
  expect_sums_in_fp32(X.partial("world"), X.sharded(0, "world"));
  if (P.size() > 1) expect_sums_in_fp32(X.partial("world"), Space(P.subset({0}), X.shape()));
}

}  // namespace
}  // namespace riesz
