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

/// Have all workers the same number, such as a digest of their data? Collective over the partition.
/// @throws Error on all of them, naming `what` and the first rank that differs from rank 0.
void check_alike(const Partition& partition, const std::string& what, std::uint64_t number);

/// Have the workers on which X is Replicated or Copied the same bits, of one type? `local`: this worker's
/// part. Collective over the partition, the same check on all; nothing outside it, or where no axis of more
/// than one worker is so placed. Cost: one pass over the part, 16 bytes to each of those workers, counted as
/// "CheckAlike". Where a split's intervals overlap, copies are not compared.
/// @throws Error on all of those workers, naming `what`, the space, an axis, the first element that differs
/// between two of its workers, and both their values.
void check_alike(const std::string& what, const Space& X, const at::Tensor& local);

/// Every worker's text, by rank, on every worker. Collective over the partition.
std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine);

/// A digest of bytes, such that any one bit changes it: the rounds of XXH64.
std::uint64_t digest(const void* bytes, std::size_t count);
std::uint64_t digest(const std::string& text);

}  // namespace riesz
