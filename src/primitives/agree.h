// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Agree: Copied → Replicated on the axes. y_r = x_r, an alias: the copies must be equal; from here on they are computed
/// with alike. Adjoint: Term, Replicated → Partial. Cost: 0 elements, 0 messages.
/// Law: ⟨A x, y⟩ = ⟨x, A* y⟩ for equal copies.
Step agree(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
