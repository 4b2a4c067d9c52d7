// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/space.h"

namespace riesz {

/// The global row-major indices of some elements of this worker's part of X: those at `local` in the part's
/// row-major order. Local. Cost: linear in the part's extents and in the lines that the elements lie on.
Intervals global_intervals(const Space& X, const Interval& local);

}  // namespace riesz
