// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/primitives/plan/host_copy.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// Up to this many elements, a fibre of two workers combines in one round.
inline constexpr std::int64_t kSmallReduction = 8192;

/// The rounds that combine x_0 … x_{p−1}, of n elements each, element by element, on the fibre of `axes`
/// through the worker of this rank of the partition. All its workers get the same bits. There are two rounds.
/// The first is a reduce-scatter of flat, balanced chunks, in which each worker combines its own chunk in
/// rank order. The second is an all-gather of the chunks. Between hosts a chunk travels as a `HostCopy`,
/// which takes a third round. If chunk r has c_r elements, (n − c_r) + (p − 1)·c_r elements leave worker r,
/// in a message to each that gets any, on one host. Where p divides n, that is 2(p − 1)/p·n elements in 2(p −
/// 1) messages.
///
/// A fibre of two workers with at most `kSmallReduction` elements needs one round: each sends all of x to the
/// other, and both combine all. So n elements leave each in one message, instead of two.
Rounds fibre_rounds(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements,
                    Round::Combination combination, const Hosts& hosts);

}  // namespace riesz
