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

/// S with some of `dims` whole. Their axes shard another of the first `hosts` dims instead, the one with the
/// most elements for a worker. All of `dims` are whole if a dim outside of them has an element for each
/// worker. Else `first`, one of them, is whole. Without another dim S is Replicated there.
Space with_whole(const Space& S, const std::vector<int>& dims, int first, int hosts);

}  // namespace riesz::detail
