// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// Up to this many elements, a fibre of two workers combines in one round.
inline constexpr std::int64_t kSmallReduction = 8192;

/// y = the combination of x_0 … x_{p−1}, element by element, n elements each, with the same bits on every
/// worker of the fibre of `axes` through `rank`. Two rounds: a reduce-scatter of flat, balanced chunks, in
/// which each worker combines its own in rank order, then an all-gather of them. Let c_r be the chunk of
/// worker r: then (n − c_r) + (p − 1)·c_r elements leave it, in a message to each other that gets any. Where
/// p divides n, that is 2(p − 1)/p·n elements in 2(p − 1) messages.
///
/// A fibre of two workers with at most `kSmallReduction` elements needs one round: each sends all of x to the
/// other, and both combine all. So n elements leave each in one message, instead of two.
Rounds fibre_rounds(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements,
                    Round::Combination combination);

}  // namespace riesz
