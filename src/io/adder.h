// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace riesz {

/// minGPT's task: all sums a + b of two numbers of n digits. A sequence has 3n + 1 digits: a, b, and a + b
/// with the last digit first, since carries run that way. With two digits, 85 + 50 = 135 is 8 5 5 0 5 3 1.
/// Sum number i is of a = i / 10ⁿ and b = i mod 10ⁿ.
class Adder {
 public:
  /// @throws Error unless 1 ≤ digits ≤ 3.
  explicit Adder(int digits);

  static constexpr std::int64_t vocabulary = 10;
  int digits() const { return digits_; }
  /// How many sums there are: 10²ⁿ.
  std::int64_t size() const { return numbers_ * numbers_; }
  /// Digits of a question: 2n; of an answer: n + 1.
  std::int64_t question() const { return 2 * digits_; }
  std::int64_t answer() const { return digits_ + 1; }

  std::int64_t first(std::int64_t sum) const { return sum / numbers_; }
  std::int64_t second(std::int64_t sum) const { return sum % numbers_; }
  /// The sequences of these sums: (sums, 3n + 1), int64.
  at::Tensor sequences(const std::vector<std::int64_t>& sums) const;
  /// The number that digits written in reverse mean.
  static std::int64_t number(const std::vector<std::int64_t>& reversed);

 private:
  int digits_;
  std::int64_t numbers_;
};

}  // namespace riesz
