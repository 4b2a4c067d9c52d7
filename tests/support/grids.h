// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/partition/partition.h"

namespace riesz::testing {

/// Calls `f` with these workers on every grid of one to three axes "a", "b", "c": all factorisations of their
/// number, in all orders, axes of one worker included. A failure inside says on which grid.
void for_each_grid(const Partition& workers, const std::function<void(const Partition&)>& f);

/// The same for the first n workers of the job; the others call it too, outside the grids.
void for_each_grid(int n, const std::function<void(const Partition&)>& f);

}  // namespace riesz::testing
