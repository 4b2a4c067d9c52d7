// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// AllToAll: Sharded(d) → Sharded(e) on one axis. Each worker gives every other the part of its piece that the other
/// needs. Adjoint: the reverse, Sharded(e) → Sharded(d).
/// Cost: what worker r holds of the others' new pieces: (p − 1)/p·n_r elements where p divides the sizes, p − 1 messages.
Step all_to_all(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace riesz::primitives
