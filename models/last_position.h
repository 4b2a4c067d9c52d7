// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz::models {

/// The last position alone: x in (B, T, C) → (B, 1, C) in Y, whose dims of any extent are those of x.
/// Generation needs only this part of a prompt before the output layer. Nothing is done where T is 1. Where
/// axes shard T, the worker that has the position sends it on. Collective over x's partition.
Vector last_position(const Vector& x, const Space& Y);

}  // namespace riesz::models
