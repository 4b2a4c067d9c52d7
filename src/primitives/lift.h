// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Can every axis of P with more than one worker be found on Q, by name, with the same extent?
bool fits_into(const Partition& P, const Partition& Q);

/// The positions on Q of the axes with more than one worker that P has not, or has with one worker.
std::vector<int> new_axes(const Partition& P, const Partition& Q);

/// X seen on Q: axes match by name, the new ones are placed as `placement`. @throws Error unless X's partition fits.
Space lift(const Space& X, const Partition& Q, Placement placement);

/// The rank in P of the worker whose coordinates on the axes that P and Q share are those of `rank` of Q.
int project(const Partition& P, const Partition& Q, int rank);

/// The ranks in Q of the workers that `project` to `rank` of P, in rank order.
std::vector<int> fibre_above(const Partition& P, const Partition& Q, int rank);

}  // namespace riesz
