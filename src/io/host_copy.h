// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// Makes a tensor with one copy on each host, in shared memory. The workers of P on a host each fill a piece
/// of its rows, balanced and in their order. Then all read the whole. It is Sharded(0) → Replicated without a
/// message, since a piece is written where the whole is read.
///
/// `fill(rows, piece)` writes piece = whole[rows]. It must write the same on every worker, since each host
/// fills its own copy. Afterwards nobody may write: where several workers share the copy, a write ends the
/// program (SIGSEGV). With RIESZ_TRANSPORT=mpi no memory is shared, and each worker fills a copy of its own.
///
/// Collective over P; no worker returns before the whole is there. Only a text moves from each worker to
/// each, counted as "CheckAlike".
/// @throws Error, the same on all workers: that of the first whose `fill` throws, or whose host has no memory
/// to share.
at::Tensor host_copy(const Partition& P, at::IntArrayRef shape, at::ScalarType type,
                     const std::function<void(const Interval& rows, const at::Tensor& piece)>& fill);

/// A row that cannot be filled, by its number in the whole, and why.
struct MissingRow {
  std::int64_t row = 0;
  std::string why;
};

/// Rows of which some are missing.
struct SomeRows {
  at::Tensor rows;                    ///< the others, in their order
  std::vector<std::int64_t> missing;  ///< their numbers in the whole, ascending
  std::string why;                    ///< of the first of them; "" where none is missing
};

/// As `host_copy`, of rows that perhaps cannot all be filled: `fill` returns those of its rows that it could
/// not, ascending. A row that any worker of P misses is left out on every host, so all hold the same rows.
/// The memory is that of all rows. Collective over P; it sends one text more than `host_copy`, from each
/// worker to each. @throws Error as `host_copy`.
SomeRows host_copy_of_those(
    const Partition& P, at::IntArrayRef shape, at::ScalarType type,
    const std::function<std::vector<MissingRow>(const Interval& rows, const at::Tensor& piece)>& fill);

/// How many workers of P share this worker's copy, itself counted. Local.
int holders_of_host_copy(const Partition& P);

}  // namespace riesz
