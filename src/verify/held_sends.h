// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz {

/// Held sends: for each round of sends that nobody waits for, the rounds that must be taken before its strand
/// goes on, if the worker keeps at most `kept` bytes of them. The result leaves out rounds that the strand
/// has waited for before. Pure; private to this room.
///
/// The oldest come first, the round itself last. Beside those before it, a thread counts whatever other
/// strands may have sent by then: at run time threads send in any order. So no order of the threads keeps
/// more than is counted here. A background task is never held back at run time; here it is, as if it were.
std::map<std::size_t, std::vector<std::size_t>> held_sends(const Recording& recording, std::int64_t kept);

/// The bytes that a round sends.
std::int64_t bytes_sent(const Recording& recording, const RecordedRound& round);

}  // namespace riesz
