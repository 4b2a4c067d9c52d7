// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz {

/// Held sends: for each round r of sends that nobody waits for, the rounds that receivers must have taken
/// before r's strand goes on after r. Then the worker keeps at most `kept` bytes that are sent and not taken.
/// The result leaves out rounds that the strand has waited for before. Pure; private to this room.
///
/// The oldest come first, r itself last. This is a worst case: what other strands may have sent by then
/// counts as sent, for at run time threads send in any order. Background tasks are held back here, although
/// they are not at run time.
std::map<std::size_t, std::vector<std::size_t>> held_sends(const Recording& recording, std::int64_t kept);

/// The bytes that a round sends.
std::int64_t bytes_sent(const Recording& recording, const RecordedRound& round);

}  // namespace riesz
