// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace riesz {

/// A stream of random numbers that (seed, name, stream) decide, such as for the windows of one training step.
/// It is the same on every worker, machine and layout.
class Draws {
 public:
  Draws(std::uint64_t seed, std::string_view name, std::uint64_t stream = 0);

  std::uint64_t bits();
  /// Uniform in [0, n), without bias. @pre n ≥ 1
  std::uint64_t below(std::uint64_t n);
  /// Uniform in [0, 1), a multiple of 2⁻⁵³.
  double uniform();

 private:
  std::uint64_t key_;
  std::uint64_t stream_;
  std::uint64_t next_ = 0;
};

/// The integers of [0, n) in an order drawn uniformly.
std::vector<std::int64_t> permutation(std::int64_t n, Draws draws);

}  // namespace riesz
