// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// Calls `f` with single steps of every kind on every axis of the grid, and on pairs of axes where a kind
/// moves several: Copy, AllReduce, AllGather, ReduceScatter, Slice, Pad, Agree, Term, each of their forms,
/// AllToAll and Repartition. The other axes lie in turn in every way. Shapes have uneven and empty shards,
/// fewer elements than workers, dims of one and of no element, and none at all. The same calls on every
/// worker. `shapes`: small ones only, or all.
enum class Shapes { small, all };
void for_each_move(const Partition& grid, Shapes shapes, const std::function<void(const Step&)>& f);

/// The step as an operator of its own.
Operator alone(const Step& step);

}  // namespace riesz::testing
