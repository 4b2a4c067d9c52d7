// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz::detail {

/// x in Y, whose dims of any extent are those of x: by between(X, Y), which is kept for the next call with
/// these spaces in this thread. It brings a vector from where one layer leaves it to where another needs it.
/// Differentiable; collective over both partitions.
/// @throws Error naming both spaces unless they have as many dims.
Vector relayout(const Vector& x, const Space& Y);

}  // namespace riesz::detail
