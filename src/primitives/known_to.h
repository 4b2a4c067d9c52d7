// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/space.h"

namespace riesz {

/// X as the workers of its partition know it, told to the workers of Q, for whom dims of it may be `any`:
/// those who are to receive a vector whose shape only the sender knows. Its first worker sends each of them
/// one message of as many numbers as X has dims. Collective over both partitions; others get X as they gave
/// it.
///
///     const Space X = known_to(next_stage, x.space());  // there: Space(this_stage, {Space::any, T, C})
///
/// @throws Error where a worker of X's partition does not know all of X.
Space known_to(const Partition& Q, const Space& X);

}  // namespace riesz
