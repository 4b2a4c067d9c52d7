// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// Are all gradients and terms of the shares finite, on all workers of P? The same answer on all of them.
/// Collective over P: one pass over them, and one AllMin of one number.
bool all_finite(const Partition& P, const std::vector<Share>& shares);

/// @throws NotFiniteGradient naming `what` and the first parameter whose gradient is NaN or infinite on any
/// worker, alike on all of the store's workers. Collective over the store's partition, as all_finite. Nothing
/// moves where the store knows that gradients are finite (`Store::know_finite`, which clip_gradients and
/// LossScale call) and nothing has gone backward since. Then a worker checks only the gradients that the
/// program has changed since; it throws alone, while the others go on to their step. So a program that
/// changes gradients after clipping must itself keep them finite on all workers, or make all throw.
void check_finite(const std::string& what, Store& store, const std::vector<Share>& shares);

}  // namespace riesz
