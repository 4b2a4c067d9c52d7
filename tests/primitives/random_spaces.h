// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::testing {

/// Random grids, shapes and spaces, alike on every worker for one seed.
class RandomSpaces {
 public:
  explicit RandomSpaces(std::uint64_t seed) : random_(seed) {}

  /// A number of 0 … count − 1.
  int any_of(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }

  /// These workers on one to three axes.
  Partition grid(const Partition& workers);

  /// A space without axes placed yet: one to three dims of zero to six units of one or two elements.
  Space shape(const Partition& grid);

  /// The space with each axis, in any order, on a dim or placed as one of `kinds`; now and then with sizes of
  /// its own.
  Space place(const Space& X, const std::vector<Placement>& kinds);

 private:
  std::mt19937_64 random_;
};

}  // namespace riesz::testing
