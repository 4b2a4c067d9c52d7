// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/space.h"

namespace riesz {

/// Tells the workers of Q the extents of X, as the workers of X's partition know them. Returns X with these
/// extents. Workers of Q may pass dims of extent `any`, before they receive a vector whose shape only the
/// sender knows. X's first worker sends each of them one message with the extents. Collective over both
/// partitions; other workers get X as they gave it.
///
///     const Space X = known_to(next_stage, x.space());  // next_stage: Space(this_stage, {Space::any, T, C})
///
/// @throws Error where a worker of X's partition does not know all of X.
Space known_to(const Partition& Q, const Space& X);

}  // namespace riesz
