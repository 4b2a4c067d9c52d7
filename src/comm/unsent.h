// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The limit of unsent bytes: those that a worker has sent and receivers have not taken (`Counters::unsent`).
/// It is 1 GiB, or the bytes in the environment's RIESZ_UNSENT; 0: no limit. A send beyond the limit is held
/// back: the call returns once receivers have taken so much that the rest is below the limit, or have taken
/// all that was sent before this call. So a worker keeps at most the limit and the bytes of one call. Past
/// the deadline of that wait the job ends with a report.
void set_most_unsent(std::int64_t bytes);
std::int64_t most_unsent();

}  // namespace riesz
