// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Halo: owned boxes → covering boxes, along any axes in one round, corners direct. Each worker's box is
/// filled with what the owners of its indices have; one that it holds itself stays where it is. Adjoint:
/// HaloSum. Cost: Σ over other workers |own ∩ need| elements, in one message to each that needs any.
Step halo(const Space& X, const Space& Y, const std::vector<int>& axes);

/// HaloSum: covering boxes of terms → owned boxes: every term is added to its owner's, in rank order.
/// Adjoint: Halo.
Step halo_sum(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
