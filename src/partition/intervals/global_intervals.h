// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/space.h"

namespace riesz {

/// The global indices of some elements of this worker's tensor in X: those at `local` in the tensor's
/// row-major order. Both sides are flat: an element of a tensor has one row-major index, and not one for each
/// dim. Local. Cost: linear in the tensor's extents and in the lines that the elements lie on.
Intervals global_intervals(const Space& X, const Interval& local);

}  // namespace riesz
