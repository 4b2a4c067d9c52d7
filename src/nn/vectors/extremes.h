// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz::detail {

struct Extremes {
  double least;
  double greatest;
};

/// The least and the greatest element of the vector meant. With them a check of values throws alike on all
/// workers where one holds the bad value. +∞ and −∞ for no elements; NaN where an element is NaN. Without
/// gradient. Cost: an AllMax of two elements over the axes that shard x; nothing where none does. Collective
/// over those.
Extremes extremes(const Vector& x);

}  // namespace riesz::detail
