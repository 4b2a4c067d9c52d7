// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// Gathers every worker's number along `axes`, in rank order, on all of them. Without gradient, in program
/// order. Collective over the fibres; p − 1 numbers and messages leave each worker.
std::vector<std::int64_t> all_counts(const Partition& partition, const std::vector<std::string>& axes,
                                     std::int64_t count);

/// Sends rows to each worker along `axes`, in numbers that are known only at run time. The piece pieces[i],
/// of shape (n_i, …), goes to the fibre's worker i. The result has the pieces that the workers sent here, in
/// rank order. All pieces have the same type, which may be any, and the same shape except for the number of
/// rows. Without gradient: a caller sends a gradient's rows back by a second call. Collective over the
/// fibres; Σ_{i≠me} n_i rows in one message to each worker that gets any, and p − 1 counts.
/// @throws Error unless there is one piece a worker, all alike.
std::vector<at::Tensor> all_to_all_v(const Partition& partition, const std::vector<std::string>& axes,
                                     const std::vector<at::Tensor>& pieces);

}  // namespace riesz
