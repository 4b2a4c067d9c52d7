// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// How many times this process has gone backward, or said so: by this a store sees that gradients may have
/// come, on all workers alike, also on those that got none.
std::uint64_t backward_passes();
/// Says that one is made. `backward` and `Pipeline::train` do. From any thread.
void count_backward_pass();

}  // namespace riesz
