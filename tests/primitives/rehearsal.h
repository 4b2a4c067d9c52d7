// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz::testing {

/// Do all workers come to their ends, if in each step any thread or background task goes on that can? It is
/// the rule of a running job, written down once more and step by step. A message is taken when both ends are
/// posted. A thread that sends what nobody waits for is held back while more than `untaken` bytes are sent
/// and not taken (0: no limit), unless they are all of that send. A background task never is.
bool comes_to_its_end(const std::vector<Recording>& recordings, std::int64_t untaken, std::uint64_t seed);

/// Has every message its other end, at the same place of the same channel, of the same operator, size and
/// type?
bool all_messages_meet(const std::vector<Recording>& recordings);

}  // namespace riesz::testing
