// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// How many bytes a worker may have sent that their receivers have not taken (`Counters::unsent`): 1 GiB, or
/// the bytes of the environment's RIESZ_UNSENT; 0: any number. A send that goes beyond it is held back: the
/// call returns when receivers have taken enough, or all that was sent before. So a worker keeps at most this
/// and what one call sends. Past the deadline of that wait the job ends, with a report.
void set_most_unsent(std::int64_t bytes);
std::int64_t most_unsent();

}  // namespace riesz
