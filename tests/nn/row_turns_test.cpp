// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_turns.h"

#include <gtest/gtest.h>

#include "few_rows.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/partition/partition.h"

namespace riesz::testing {
namespace {

TEST(RowTurns, HaveTheBitsOfTheFormulasOperations) {
  at::manual_seed(1);
  const Space X(Partition::simulated(1), {2, 3, 5, 64});
  for (const RotaryPairs pairs : {RotaryPairs::neighbours, RotaryPairs::halves}) {
    for (const std::int64_t dims : {64, 24, 2}) {
      const RotaryOptions options{.dims = dims, .offset = 700, .pairs = pairs};
      const at::Tensor x = floats(X.shape());
      const at::Tensor recorded = rotary(Vector(X, x.clone().requires_grad_()), options).local();
      for (const at::Tensor& lying : {x, in_a_room(x)}) {
        ASSERT_TRUE(detail::is_row_turns(lying));
        spoil(X.shape());
        EXPECT_TRUE(rotary(Vector(X, lying), options).local().equal(recorded)) << dims << " dims turn";
      }
    }
  }
}

}  // namespace
}  // namespace riesz::testing
