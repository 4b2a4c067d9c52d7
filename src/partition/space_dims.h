// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// The space with the dims of S at these positions, in this order, with their extents, units and shards. An
/// axis that shards a dim left out becomes Replicated; the other axes stay placed as they are.
Space select_dims(const Space& S, const std::vector<int>& dims);

/// S with one more dim at `position`. It has n elements in units of `unit`, and no axis shards it.
Space insert_dim(const Space& S, int position, std::int64_t n, std::int64_t unit = 1);

/// The split by which the first axis that shards a dim of S cuts it: balanced in whole units, unless one is
/// given.
Split split_of(const Space& S, int dim);

/// The axes of more than one worker that shard a dim of S, major to minor.
std::vector<std::string> sharding_axes(const Space& S, int dim);

}  // namespace riesz
