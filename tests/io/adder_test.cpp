// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/adder.h"

#include <gtest/gtest.h>

#include "riesz/testing/error.h"

namespace riesz {
namespace {

std::vector<std::int64_t> digits(const at::Tensor& sequences, std::int64_t row) {
  const at::Tensor one = sequences.select(0, row).contiguous();
  const auto* data = one.const_data_ptr<std::int64_t>();
  return {data, data + one.numel()};
}

TEST(Adder, WritesTheSumWithTheLastDigitFirst) {
  const Adder adder(2);
  using Digits = std::vector<std::int64_t>;

  const at::Tensor sequences = adder.sequences({8550, 0, 9999, 705});

  EXPECT_EQ(digits(sequences, 0), (Digits{8, 5, 5, 0, 5, 3, 1}));  // 85 + 50 = 135
  EXPECT_EQ(digits(sequences, 1), (Digits{0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(digits(sequences, 2), (Digits{9, 9, 9, 9, 8, 9, 1}));  // 99 + 99 = 198
  EXPECT_EQ(digits(sequences, 3), (Digits{0, 7, 0, 5, 2, 1, 0}));  // 7 + 5 = 12
}

TEST(Adder, EveryAnswerReadsBackAsTheSum) {
  for (const int n : {1, 2, 3}) {
    const Adder adder(n);
    std::vector<std::int64_t> sums;
    for (std::int64_t sum = 0; sum < adder.size(); sum += n == 3 ? 997 : 1) sums.push_back(sum);

    const at::Tensor answers = adder.sequences(sums).narrow(1, adder.question(), adder.answer());

    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(Adder::number(digits(answers, static_cast<std::int64_t>(i))),
                adder.first(sums[i]) + adder.second(sums[i]));
    }
  }
}

TEST(Adder, KnowsItsSizes) {
  EXPECT_EQ(Adder(2).size(), 10000);
  EXPECT_EQ(Adder(2).question(), 4);
  EXPECT_EQ(Adder(2).answer(), 3);
  EXPECT_EQ(Adder(1).size(), 100);
}

TEST(Adder, RefusesOtherNumbersOfDigits) {
  EXPECT_ERROR(Adder(0), "numbers of 0 digits", "1 to 3");
  EXPECT_ERROR(Adder(4), "numbers of 4 digits");
}

}  // namespace
}  // namespace riesz
