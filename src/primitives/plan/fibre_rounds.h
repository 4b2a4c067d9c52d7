// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// A fibre of two workers combines up to so many elements in one round.
inline constexpr std::int64_t kSmallReduction = 8192;

/// y = the combination of x_0 … x_{p−1}, n elements each, element by element, on every worker of the fibre of
/// `axes` through the one of `rank`, with the same bits on all of them. Two rounds: a reduce-scatter of flat,
/// balanced chunks, in which each worker combines its own in rank order, then an all-gather of them. With c_r
/// the chunk of worker r, (n − c_r) + (p − 1)·c_r elements leave it, in a message to each other that gets any:
/// 2(p − 1)/p·n in 2(p − 1) messages where p divides n.
///
/// A fibre of two workers with at most `kSmallReduction` elements needs one round: each sends all of x to the
/// other, and both combine all. So n elements leave each in one message, instead of two.
Rounds fibre_rounds(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements,
                    Round::Combination combination);

}  // namespace riesz
