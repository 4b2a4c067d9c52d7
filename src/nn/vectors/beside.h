// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// How w combines with elements of x that are terms of a sum: as one more term, or as a factor of every term.
enum class BesideAs { sum, product };

/// The operator that reads w, with some of x's indices, to broadcast against x: W's space → its computing
/// space. It is the read of the contraction of w with ones over x's other indices. So w's gradient sums over
/// what w was spread over, wherever that lies. For "btc" and "c" the result is Sharded where x shards c,
/// Copied where x shards b or t or is Copied, and Replicated where x is. Where x is Partial, a term is
/// Partial and a factor Copied.
/// @throws Error naming `what`, both spaces and the remedy where letters, extents or units do not fit. Also
/// where x has terms in a split that overlaps, and w, to be added, lacks that index.
Operator beside(const std::string& what, BesideAs as, const Space& X, const std::string& x_indices,
                const Space& W, const std::string& w_indices);

/// The local part of w as read beside x, shaped to broadcast against x's. Differentiable; collective over
/// both partitions. The operator is kept for the next call with these spaces.
at::Tensor read_beside(const char* what, BesideAs as, const Space& X, const std::string& x_indices,
                       const Vector& w, const std::string& w_indices);

}  // namespace riesz::detail
