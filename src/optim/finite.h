// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/optim/store.h"

namespace riesz {

/// Has no worker of P a NaN or an infinite element in what it has for a step? The same answer on all of them.
/// Collective over P: one pass over what it has, one AllMax of one number.
bool all_finite(const Partition& P, const std::vector<Share>& shares);

/// @throws Error naming `what` and the first parameter whose gradient is NaN or infinite on any worker, alike
/// on all that share its partition. Where the store knows that gradients are finite (`Store::know_finite`) it
/// costs nothing; a worker that has changed some since looks at those, and throws alone. Else it is
/// collective over the parameters' partitions, as all_finite.
void check_finite(const std::string& what, Store& store, const std::vector<Share>& shares);

}  // namespace riesz
