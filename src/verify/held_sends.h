// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz {

/// Held sends: where each strand of a worker must wait, so that at most `kept` bytes are sent and not taken.
/// The result has an entry for each round r of sends that nobody waits for. It lists the rounds that
/// receivers must have taken before the strand of r goes on after r. Rounds that the strand has waited for
/// before are left out. Pure; private to src/verify.
///
/// Each list is in the order of the recording. The lists are for the worst case: at run time threads send in
/// any order. So all that other strands could have sent before r goes on counts as sent. Here background
/// tasks wait too, although they do not at run time.
std::map<std::size_t, std::vector<std::size_t>> held_sends(const Recording& recording, std::int64_t kept);

/// The bytes that a round sends.
std::int64_t bytes_sent(const Recording& recording, const RecordedRound& round);

}  // namespace riesz
