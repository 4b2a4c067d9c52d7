// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "placed.h"
#include "riesz/testing/pairs.h"

namespace riesz::testing {

/// All courses that there are, of any number of ranks, as choices of: a grid (stages, dp, tp), a synchronous
/// schedule with its chunks, what is computed again, where state lives, how many runs a step has, and whether
/// weights are tied. dp and tp are of at most so many workers each.
std::vector<Choice> all_courses(int most);

/// Of how many ranks a choice is.
int ranks_of(const Choice& choice);

/// The course of a choice, with as many micro-batches as its schedule can have: fewer than stages, as many,
/// or more.
PlacedCourse course_of(const Choice& choice);

}  // namespace riesz::testing
