// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/sign_bits.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

TEST(SignBits, AreEightToAByte) {
  const at::Tensor x = at::tensor({1.0, -1.0, 0.0, -0.0, -2.0, 3.0, -1.0, 4.0, -5.0, 6.0}, at::kDouble);

  const at::Tensor bytes = pack_signs(x);

  EXPECT_SAME_BITS(bytes, at::tensor({0b10101101, 0b10}, at::kByte));
  const at::Tensor y = at::full({10}, 1.0, at::kDouble);
  add_signs(bytes, 0.5, y);
  EXPECT_SAME_BITS(y, at::tensor({1.5, 0.5, 1.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5}, at::kDouble));
  EXPECT_EQ(pack_signs(x.narrow(0, 0, 0)).numel(), 0);
  EXPECT_ERROR(add_signs(bytes, 1, x.narrow(0, 0, 8)), "2 bytes for 8 elements");
}

}  // namespace
}  // namespace riesz::testing
