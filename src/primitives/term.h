// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Term: Replicated or Copied → Partial on the axes. The first worker of each fibre keeps the vector, the others hold
/// zero, so that the terms sum to it. Adjoint: Agree (Copied → Replicated) of the first form; the second form is its own
/// adjoint, Copied → Partial. Cost: 0 elements, 0 messages.
Step term(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
