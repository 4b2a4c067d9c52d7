// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/label.h"
#include "riesz/partition/space.h"

namespace riesz {

/// Adds the grid and its workers, in their order, to what the workers at both ends of a message compare.
void mix(Digest& digest, const Partition& partition);

/// Adds a space's shape, units, shards and placements; not its partition.
void mix(Digest& digest, const Space& space);

}  // namespace riesz
