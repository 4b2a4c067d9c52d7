// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Repartition: Sharded → Sharded on several axes at once, or anew on one dim: any boxes to any boxes of one
/// grid, in one round. Axes that are not sharded at an end may move with them, as `Routes` says.
/// Adjoint: the reverse.
/// Cost: where the axes are sharded at both ends, worker r sends own_r \ need_r, elements that others need,
/// in a message to each that needs any: the minimum.
Step repartition(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
