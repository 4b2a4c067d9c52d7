// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/late_number.h"
#include "riesz/optim/store.h"

namespace riesz {

/// Clips gradients by the norm of all of them together, √Σ⟨ḡ, ḡ⟩ over the vectors meant. Each element counts
/// once, whatever its layout. Where the norm is above `max_norm`, every gradient is scaled by max_norm/norm.
/// Returns the norm, with the same bits on all workers. It is NaN or infinite where a gradient is; then
/// nothing is scaled, and a step would throw. Give it the optimizer's own store: another one may hold copies
/// of the gradients. Collective over the store's partition: one AllReduce of one element, and one AllMin of
/// one number where the norm is not finite.
///
/// On a device nothing waits for the norm, unless the program reads it. The step after it then changes
/// nothing where a gradient is not finite, and the next step throws that. There is no AllMin: the step makes
/// its own. With fp64 gradients the AllReduce is of two elements.
/// @throws Error unless `max_norm` is above 0. Also where gradients are each worker's own terms, whose norm
/// is not that of their sum, and where gradients are finite but the sum of their squares is not. Also, on
/// that worker alone, on a worker that is not one of the store's.
LateNumber clip_gradients(Store& store, double max_norm);

}  // namespace riesz
