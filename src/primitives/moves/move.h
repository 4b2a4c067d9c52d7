// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "riesz/primitives/moves/ends.h"
#include "riesz/primitives/plan/rounds.h"
#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// The engine of a move: the way in which it makes y of x. `alias` is x itself. `slice`, `pad` and `term`
/// send nothing: each worker makes its y of its own x. `boxes` exchanges boxes, and `sum` sums on every
/// fibre.
enum class Engine { alias, slice, pad, term, boxes, sum };

/// A move record: one line of the table of named moves.
struct MoveRecord {
  std::string_view name;
  Placements from;  ///< how the axes that move are placed in X
  Placements to;    ///< and in Y
  std::string_view adjoint;
  Engine engine;
};

/// The move of this name from X to Y along these axes. @throws Error as `check_ends` does.
Step named_move(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes);
/// The same between two partitions, where no axis is compared.
Step named_move(std::string_view name, const Space& X, const Space& Y);

}  // namespace riesz::primitives
