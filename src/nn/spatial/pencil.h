// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// True if each worker has all of this dim, in order.
bool is_whole(const Space& S, int dim);

/// S with other extents, and dims added at the end, whose dims lie as those of S. A split that is given stays
/// where the extent does. A unit stays where it divides the extent.
Space reshaped_like(const Space& S, const std::vector<std::int64_t>& shape);

/// S, but some of `dims` are whole: their axes shard one of the first `hosts` dims instead, the one with
/// most elements a worker. If one that is not among `dims` has elements for all workers, all of `dims` are
/// whole. Else `first` is, which is one of them. Where S has no other dim it is Replicated.
Space with_whole(const Space& S, const std::vector<int>& dims, int first, int hosts);

}  // namespace riesz::detail
