// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/optim/store.h"

namespace riesz {

/// The norm of all gradients together, √Σ⟨ḡ, ḡ⟩ over the vectors meant: each element once whatever its
/// layout, by the worker that counts it. Where it is above `max_norm`, every gradient is scaled by
/// max_norm/norm. Returns the norm, the same bits on all workers; NaN or infinite where a gradient is, and
/// then nothing is scaled: a step would throw. Give it the optimizer's own store: another one may hold copies
/// of the gradients. Collective over the store's partition: one AllReduce of one element, and one AllMin of
/// one number where the norm is not finite.
/// @throws Error unless `max_norm` is above 0. Also where gradients are each worker's own terms, whose norm
/// is not that of their sum, and where they are finite but the sum of their squares is not. On a worker that
/// is none of the store's, on that worker alone.
double clip_gradients(Store& store, double max_norm);

}  // namespace riesz
