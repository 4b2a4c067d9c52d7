// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/label.h"
#include "riesz/partition/space.h"

namespace riesz {

/// Mixes a space into a digest: its shape, units, shards and placements, without its partition.
void mix(DigestBuilder& digest, const Space& space);

}  // namespace riesz
