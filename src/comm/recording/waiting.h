// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/comm/recording/matching.h"

namespace riesz {

/// The result of following a job's waits.
struct Waiting {
  bool ends = false;
  /// Where it does not end: who waits for whom in a circle, a line for each wait.
  std::string circle;
};

/// Follows the waits of a job, to see whether all workers reach their ends. A wait ends when the other end of
/// each message of its round is posted. That is the hardest case: no transport keeps anything for a receiver
/// who comes later. Sends that nobody waits for are kept, at most `kept` bytes on each worker: where there
/// would be more, it waits for the oldest to be taken. No event but these hinders another, so the order in
/// which workers go on makes no difference: one way to the end shows that all ways lead there. `matching`:
/// without faults. Pure.
Waiting follow(const std::vector<Recording>& recordings, const StandIns& stand_ins, const Matching& matching,
               std::int64_t kept);

/// With so many bytes to keep all workers come to their ends. It is 0, or a power of two times the largest
/// round of sends that nobody waits for. −1: they do not, however much is kept.
std::int64_t enough_kept(const std::vector<Recording>& recordings, const StandIns& stand_ins,
                         const Matching& matching);

}  // namespace riesz
