// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/primitives/primitive.h"

namespace riesz::primitives {

/// Broadcast: a space on P → the same on a larger partition Q, Copied on Q's new axes. Axes match by name; P has ones
/// or no axis where Q has more workers; the ranks may be equal, overlap or be disjoint, so a root is anywhere.
/// y_r = x_s for the worker s of P at r's coordinates.
/// Adjoint: SumReduce. Cost: (p − 1)·n elements leave a root that is one of its p receivers, in p − 1 messages, else
/// p·n in p.
/// @throws Error naming both partitions unless P fits into Q.
Step broadcast(const Space& X, const Partition& Q);

}  // namespace riesz::primitives
