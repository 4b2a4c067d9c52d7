// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/partition/vector.h"

namespace riesz {

/// Which rotation rotary() makes.
struct RotaryOptions {
  std::optional<std::int64_t> dims;  ///< how many of d turn, the first ones; all unless given
  double base = 10000;
  std::int64_t offset = 0;  ///< the position of global index 0, such as the length of what was cached before
};

/// GPT-J's rotary position embedding (Su et al., 2104.09864; interleaved): for x in (…, T, heads, d), at
/// position t the pairs of neighbours i < dims/2 turn by the angle θ = (t + offset)·base^(−2i/dims),
///
///     y_2i = x_2i·cos θ − x_2i+1·sin θ        y_2i+1 = x_2i+1·cos θ + x_2i·sin θ
///
/// and the rest of d stays. X → X, with t the global index, so T may be sharded in any way; linear, so any
/// axis may be Copied or Partial too. Moves nothing; its gradient turns back. Half types are turned in fp32.
/// @throws Error unless dims is even and from 0 to d; naming axis and space if d is sharded.
Vector rotary(const Vector& x, const RotaryOptions& options = {});

}  // namespace riesz
