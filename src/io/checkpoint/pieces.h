// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "riesz/io/checkpoint/plan.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// The piece of a vector that a worker writes.
struct Piece {
  std::size_t file = 0;                   ///< of the plan's
  std::int64_t at = 0;                    ///< where in it, in bytes
  at::Tensor values;                      ///< contiguous, on the CPU: the state's own memory if that is
  const WrittenVector* vector = nullptr;  ///< the plan's, where it was brought
};

/// Brings each of the plan's vectors to the workers that write it, one vector after another. It gives this
/// worker's piece, if it has one, to `take`. That must not throw, since all workers take part in all moves.
/// After each vector all workers call `then`, which may throw on all of them alike. Collective over P, an
/// axis "world". Cost: `between` of each vector.
/// @throws Error on all workers, after all vectors, if one could not bring what it has: its pieces were zero.
/// StateLost if that lies elsewhere and cannot be read.
void for_each_piece(const Partition& P, const CheckpointPlan& plan, const State& state,
                    const std::function<void(const Piece&)>& take,
                    const std::function<void(const WrittenVector&)>& then = {});

}  // namespace riesz
