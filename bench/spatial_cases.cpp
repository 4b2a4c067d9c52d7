// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// 2,000 random convolutions, as many transposed ones, Fourier transforms, and poolings, up-samplings and
// paddings, laid out in any way, against torch's on one worker in fp64: values, gradients and traffic. The
// tests run the first of them. Pieces are of 250 seeds; a filter chooses some:
//   mpirun -n 8 spatial_cases --gtest_filter='*Fourier/0'
#include <gtest/gtest.h>

#include <cstdint>

#include "../tests/spatial/conv_case.h"
#include "../tests/spatial/fourier_case.h"
#include "../tests/spatial/pool_case.h"

namespace riesz::testing {
namespace {

constexpr std::uint64_t kPiece = 250, kCases = 2000;

class Cases : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  template <typename Expect>
  void for_each_seed(const Expect& expect) {
    for (std::uint64_t seed = GetParam() * kPiece; seed < (GetParam() + 1) * kPiece && !HasFailure();
         ++seed) {
      SCOPED_TRACE(seed);
      expect(seed);
    }
  }
};

TEST_P(Cases, Convolution) {
  for_each_seed([](std::uint64_t seed) {
    const ConvCase c = random_conv_case(seed);
    expect_torchs(c);
    expect_transposed(c);
  });
}

TEST_P(Cases, Fourier) {
  for_each_seed([](std::uint64_t seed) { expect_fourier(random_fourier_case(seed)); });
}

TEST_P(Cases, Pool) { for_each_seed(expect_pool); }

INSTANTIATE_TEST_SUITE_P(Of250, Cases, ::testing::Range<std::uint64_t>(0, kCases / kPiece));

}  // namespace
}  // namespace riesz::testing
