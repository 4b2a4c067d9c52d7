// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/label.h"
#include "riesz/partition/space.h"

namespace riesz {

/// Mixes a space into a digest: its shape, units, placements and what each worker holds, without its
/// partition. Equal spaces mix alike, however their splits were given, for they share plans.
/// Cost: where a split is given, time linear in the workers of the axes that shard its dim. So call it where
/// a plan is made.
void mix(DigestBuilder& digest, const Space& space);

}  // namespace riesz
