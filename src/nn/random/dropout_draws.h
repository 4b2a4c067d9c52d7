// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Which elements a dropout drops: the draws of a key and a step for the boxes of a global shape, in their
/// local order. The element of global row-major index i is dropped where word i mod 4 of
/// `philox(key, i div 4, step)` is below p·2³². These few numbers are all that backward needs.
struct DropoutDraws {
  std::vector<std::int64_t> shape;
  Boxes boxes;
  std::uint64_t key;
  std::uint64_t step;
  double p;  ///< at least 0 and below 1

  std::uint32_t threshold() const { return static_cast<std::uint32_t>(p * 0x1p32); }
  double factor() const { return 1 / (1 - p); }
};

}  // namespace riesz::detail
