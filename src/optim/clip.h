// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// The norm of all gradients together, √Σ⟨ḡ, ḡ⟩ over the vectors meant: each parameter counted once whatever
/// its layout. Where it is above `max_norm`, every gradient is scaled by max_norm/norm. Returns the norm, the
/// same bits on all workers. Collective over the parameters' partition, which they share; one exchange of one
/// element.
/// @throws Error naming the parameter whose gradient is Partial or Copied on an axis: its norm is none of its
/// parts'.
double clip_gradients(const std::vector<Parameter>& parameters, double max_norm);

/// The same of the gradients that a store holds: each element by the worker that counts it. Collective over
/// the store's partition; one AllReduce of one element.
double clip_gradients(Store& store, double max_norm);

}  // namespace riesz
