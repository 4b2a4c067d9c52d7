// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/partition/partition.h"

namespace riesz {

/// How many times this thread has gone backward with all workers of P, or said so. By this a store on P sees
/// that gradients may have come, on all its workers alike, also on those that got none. A pass of fewer
/// workers, such as of another model's loss, is not among them: the others do not know of it. Local.
std::uint64_t backward_passes(const Partition& P);
/// Says that one is made by all workers of P. `backward` and `Pipeline::train` do: of a placed model by all
/// its workers, also by those that the loss does not lie on.
void count_backward_pass(const Partition& P);

}  // namespace riesz
