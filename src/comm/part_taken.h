// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// How often this thread has taken part in what several workers do together: what it calls in between
/// concerns this worker if the number has changed, and else may be left out.
std::uint64_t part_taken();

/// It does so now. Whatever makes workers meet says it, also where nothing moves, since its adjoint may move.
void take_part();

}  // namespace riesz
