// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// The dim as 0 … dims − 1, where −1 is the last. @throws Error naming `what` and X if there is none.
int checked_dim(const std::string& what, const Space& X, int dim);

/// The dims of X but these.
std::vector<int> other_dims(const Space& X, const std::vector<int>& dims);

/// @throws Error naming `what`, the dim and the remedy if its split overlaps in copies.
void check_no_copies(const std::string& what, const Space& X, int dim);

}  // namespace riesz::detail
