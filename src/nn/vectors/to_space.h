// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// Brings x to Y by the natural map between(X, Y): from where one layer leaves a vector to where another
/// needs it. Y's dims of any extent take x's extents. So `to_space(a + b, spaces().stream("btc"))` sums once
/// what two branches left as terms (`LinearOptions::terms`). The map is kept for the next call with these
/// spaces in this thread. Differentiable; collective over both partitions. Cost: that of the map, which is
/// nothing where x lies so already. @throws Error naming both spaces where they have other dims or extents.
Vector to_space(const Vector& x, const Space& Y);

/// That map, from X to Y with X's extents.
Operator map_to_space(const Space& X, const Space& Y);

}  // namespace riesz
