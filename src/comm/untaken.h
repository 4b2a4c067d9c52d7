// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The limit of untaken bytes. A byte is untaken while this worker has posted it and its receiver has not
/// taken it (`Counters::untaken`). It is 1 GiB, or the bytes in the environment's RIESZ_UNTAKEN; 0: no limit.
/// A call that exceeds the limit sends, but waits before it returns. It returns once the untaken bytes are
/// within the limit, or once all that was sent before this call is taken. So a worker keeps at most the limit
/// and the bytes of one call. Past the deadline of that wait the job ends with a report. If all who are to
/// take something wait for this worker, nobody would go on. Then the call throws an Error, after 5 s and 5 s
/// more for each whole GiB that is not taken.
void set_most_untaken(std::int64_t bytes);
std::int64_t most_untaken();

}  // namespace riesz
