// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/partition/vector.h"

namespace riesz {

/// Which two of `dims` numbers are pair i, for i < dims/2.
enum class RotaryPairs {
  neighbours,  ///< 2i and 2i + 1: GPT-J's, "interleaved"
  halves       ///< i and i + dims/2: Llama's and GPT-NeoX's
};

/// Llama 3's frequencies for contexts longer than those it was first trained with. A pair that turns less
/// than low_freq_factor times in original_max_position positions turns `factor` times more slowly. A pair
/// that turns more than high_freq_factor times turns as before. Between them the frequency goes from one to
/// the other, linearly in the number of turns. The names are those of its published configuration.
struct RotaryScaling {
  double factor = 8;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_max_position = 8192;

  bool operator==(const RotaryScaling&) const = default;
};

/// Which rotation rotary() makes.
struct RotaryOptions {
  std::optional<std::int64_t> dims;  ///< the first so many of d turn; all unless given
  double base = 10000;
  std::int64_t offset = 0;  ///< the position of global index 0, such as the length of what was cached before
  RotaryPairs pairs = RotaryPairs::neighbours;
  std::optional<RotaryScaling> scaling = std::nullopt;

  bool operator==(const RotaryOptions&) const = default;
};

/// Rotary position embedding (Su et al., 2104.09864) of x in (…, T, heads, d). At position t + offset, pair
/// number i < dims/2, (a, b), turns by the angle θ = (t + offset)·base^(−2i/dims),
///
///     a ← a·cos θ − b·sin θ        b ← b·cos θ + a·sin θ
///
/// and the rest of d stays as it is. X → X. t is the global index, so T may be sharded in any way. The
/// function is linear, so any axis may be Copied or Partial too. Local; its gradient turns back. Half types
/// are turned in fp32. The last few sets of angles are kept, so layers and steps with the same positions
/// share them. An x that nobody else holds, such as a layer's result that is given on at once, is turned in
/// place on a CPU.
/// @throws Error unless dims is even and from 0 to d. Also unless the scaling's numbers are positive with
/// low_freq_factor < high_freq_factor; and, naming axis and space, if d is sharded.
Vector rotary(Vector x, const RotaryOptions& options = {});

}  // namespace riesz
