// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// How a window reads beyond the ends of a dim of n inputs: torch's padding modes.
enum class PaddingMode {
  zeros,
  circular,   ///< index i is i mod n
  reflect,    ///< index −i is i, and n − 1 + i is n − 1 − i; narrower than the dim
  replicate,  ///< the nearest input
};

/// "zeros", "circular", "reflect", "replicate".
std::string to_string(PaddingMode mode);

/// Padding of the spatial dims: as much before as after each, or `same`.
struct Padding {
  std::vector<std::int64_t> each = {0};  ///< one number for all dims, or one for each
  /// As many outputs as inputs; the stride must be 1. The total is dilation·(kernel − 1). Where that is odd,
  /// one more goes after than before.
  bool same = false;
  PaddingMode mode = PaddingMode::zeros;

  bool operator==(const Padding&) const = default;
};

}  // namespace riesz
