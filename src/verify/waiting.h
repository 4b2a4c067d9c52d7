// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/verify/matching.h"

namespace riesz {

/// The result of following a job's waits.
struct Waiting {
  bool ends = false;
  Fault circle;  ///< if it does not end: the workers that wait for each other
};

/// Follows the waits of a job, to see whether all workers reach their ends. A wait ends when the other end of
/// each message of its round is posted. That is the hardest case: nothing is delivered before its receive is
/// posted. The sender keeps sends that nobody waits for, at most `kept` bytes of them. Before it keeps more,
/// it waits until the oldest are taken. Apart from these waits no event depends on another worker's, so the
/// order in which workers go on makes no difference. If one order reaches the end, all orders do. `matching`
/// has no faults. Pure.
Waiting follow(const std::vector<Recording>& recordings, const StandIns& stand_ins, const Matching& matching,
               std::int64_t kept);

/// The bytes that each worker must be able to keep so that all workers reach their ends. It is 0, or a power
/// of two times the largest round of sends that nobody waits for; −1 if no number is enough.
std::int64_t enough_kept(const std::vector<Recording>& recordings, const StandIns& stand_ins,
                         const Matching& matching);

/// The circle in which the workers of a job wait for each other; empty if there is none. `untaken` is the
/// limit of each worker in bytes (`set_most_untaken`). Unlike `kept`, 0 is no limit. Pure.
Fault fault_of_waits(const std::vector<Recording>& recordings, const StandIns& stand_ins,
                     const Matching& matching, std::int64_t untaken);

}  // namespace riesz
