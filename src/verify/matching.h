// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/comm/recording/recording.h"
#include "riesz/verify/fault.h"

namespace riesz {

/// Stand-ins: a map from each worker of a job to a recording that stands for it. Workers that do the same,
/// each with its own peers, share one recording.
struct StandIns {
  /// The number of the recording that stands for a worker.
  std::function<std::size_t(int rank)> recording;
  /// The rank of the peer `other` of worker `rank` in the recording that stands for `rank`. It may differ
  /// from `other` where another worker made that recording.
  /// @post as_recorded(rank, as_recorded(rank, other)) == other
  std::function<int(int rank, int other)> as_recorded;
};

/// Stand-ins of which recording i stands for rank i alone.
StandIns each_its_own();

/// A message of a recording.
struct MessageId {
  std::size_t recording;
  std::size_t message;
};

/// A matching: the other end of every message, and the differences between the ends.
struct Matching {
  std::vector<std::vector<MessageId>> ends;  ///< by recording and message: the other end
  std::int64_t messages = 0;                 ///< the number that the recordings send
  /// The differences, the earliest first. Each names both ends: workers, operations, layers.
  std::vector<Fault> faults;
};

/// Matches each message that a recorded worker sends with one that its receiver expects, and the reverse. It
/// does so by channel and number, as the transport does. The two ends must have the same label, size and
/// type. If `stand_ins` is right, the result holds for all workers of the job. Pure.
Matching match(const std::vector<Recording>& recordings, const StandIns& stand_ins);

}  // namespace riesz
