// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz::detail {

struct Extremes {
  double least;
  double greatest;
};

/// The least and the greatest element of the vector meant. A check of values needs them, so that all workers
/// throw alike where one of them holds the bad value. +∞ and −∞ for no elements; NaN where one is. Without
/// gradient. Cost: an AllMax of two elements over the axes that shard x; nothing where none does. Collective
/// over those.
Extremes extremes(const Vector& x);

}  // namespace riesz::detail
