// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The number of times that this thread has taken part in collective work. If the count does not change
/// during a call, the call does not concern this worker and may be left out.
std::uint64_t participation_count();

/// Adds one to that number. All collective work calls it, also work that moves nothing, for its adjoint may
/// move something.
void count_participation();

}  // namespace riesz
