// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// True if each worker has all of this dim, in order.
bool is_whole(const Space& S, int dim);

/// A space of this shape, whose dims are sharded by the same axes as those of S; further dims at the end are
/// whole. Splits that are given are kept where the extent is unchanged, units where they divide it.
Space reshaped_like(const Space& S, const std::vector<std::int64_t>& shape);

/// S with dims made whole for a transform. If one of the first `candidates` dims that is not in `dims` has a
/// unit for every worker, the axes of all `dims` shard it instead, and all `dims` become whole. Else `first`
/// alone becomes whole: its axes move to the candidate with most units per worker. Without one, S is
/// Replicated on them.
Space with_whole(const Space& S, const std::vector<int>& dims, int first, int candidates);

}  // namespace riesz::detail
