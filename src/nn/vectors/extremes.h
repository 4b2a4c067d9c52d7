// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/partition/vector.h"

namespace riesz::detail {

struct Extremes {
  double least;
  double greatest;
};

/// The least and the greatest element of the vector meant. With them a check of values throws alike on all
/// workers where one holds the bad value. +∞ and −∞ for no elements; NaN where an element is NaN. Without
/// gradient. Waits for a device that x is on. Cost: an AllMax of two elements over the axes that shard x;
/// nothing where none does. Collective over those.
Extremes extremes(const Vector& x);

/// Gives the extremes of x to a check, which throws if they are bad. If x is on the CPU, it throws here.
/// On a device the call waits for nothing: the check is late (`check_later`), so it captures by value. As
/// collective as `extremes`, and of the same cost.
void check_extremes(const Vector& x, const std::function<void(const Extremes&)>& check);

}  // namespace riesz::detail
