// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/partition/partition.h"

namespace riesz {

/// The number of backward passes that this thread has made with all workers of P. An object that stores
/// gradients on P, such as `Zero`, sees by this number that new gradients may have come. It sees so on all
/// its workers alike, also on those that got none. Passes of fewer workers, such as of another model's loss,
/// do not count, for the others do not know of them. Local.
std::uint64_t backward_passes(const Partition& P);
/// Counts a pass that all workers of P make. `backward` and `Pipeline::train` call it. For a placed model
/// they do so on all its workers, also on those outside the loss's partition.
void count_backward_pass(const Partition& P);

}  // namespace riesz
