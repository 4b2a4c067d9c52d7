// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// 2,000 random convolutions and as many transposed ones, laid out in any way, against torch's on one worker
// in fp64: values, gradients and traffic. The tests run the first 200.
//   mpirun -n 8 conv_cases
#include <gtest/gtest.h>

#include <cstdint>

#include "../tests/spatial/conv_case.h"

namespace riesz::testing {
namespace {

TEST(Convolution, IsTorchsInManyRandomConfigurations) {
  constexpr std::uint64_t kCases = 2000;
  for (std::uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConvCase c = random_conv_case(seed);
    expect_torchs(c);
    expect_transposed(c);
  }
}

}  // namespace
}  // namespace riesz::testing
