// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Checks that all workers have the same number, such as a digest of their data. Collective over the
/// partition.
/// @throws Error on all of them, naming `what` and the first rank that differs from rank 0.
void check_alike(const Partition& partition, const std::string& what, std::uint64_t number);

/// Checks that workers have the same bits, of one type, along the axes where X is Replicated or Copied.
/// `local` is this worker's tensor. Collective over the partition; does nothing outside it, or if no such
/// axis has more than one worker. Cost: one pass over the tensor, and 16 bytes to each of these workers,
/// counted as "CheckAlike". Copies in overlaps of a split are not compared.
///
/// A valid program may call in another order on each worker, in several channels. So the call waits for the
/// others only for a while: 3 s, or a twentieth of the deadline if that is less. After that it compares a
/// copy in the background, and no later call of this worker waits.
/// @throws Error on all of these workers. It names `what`, the space, an axis, the first element that
/// differs, and both values. If the call returns before the comparison ends, a later call throws it, or any
/// wait that lasts, or the job ends with it.
void check_alike(const std::string& what, const Space& X, const at::Tensor& local);

/// Every worker's text, by rank, on every worker. Collective over the partition.
std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine);

/// A digest of bytes by the rounds of XXH64; any single bit changes it.
std::uint64_t digest(const void* bytes, std::size_t count);
std::uint64_t digest(const std::string& text);

}  // namespace riesz
