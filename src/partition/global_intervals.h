// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/space.h"

namespace riesz {

/// The global row-major indices of these elements, in row-major order, of the local part that this worker has
/// of X. Local; linear in the extents of the local part and in the lines that the elements lie on.
Intervals global_intervals(const Space& X, const Interval& local);

}  // namespace riesz
