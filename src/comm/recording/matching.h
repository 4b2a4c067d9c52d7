// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz {

/// Stand-ins: which recording stands for each worker of a job. Workers that do the same, each with its own
/// peers, share one recording.
struct StandIns {
  /// The number of the recording that stands for a worker.
  std::function<std::size_t(int rank)> recording;
  /// The rank that the recording has in place of `other`, a peer of worker `rank`. It is its own inverse.
  std::function<int(int rank, int other)> named;
};

/// Recording i is that of rank i.
StandIns each_its_own();

/// A message of a recording.
struct MessageOf {
  std::size_t recording;
  std::size_t message;
};

/// A matching: every message with its other end, and how ends differ.
struct Matching {
  std::vector<std::vector<MessageOf>> ends;  ///< by recording and message: the other end
  std::int64_t messages = 0;                 ///< that the recordings send
  /// The earliest first. Each names both ends: workers, operations, layers.
  std::vector<std::string> faults;
};

/// Matches what each recorded worker sends with what its receiver expects, and the reverse: by channel and
/// number, as the transport does. The two ends must have the same label, size and type. Where `stand_ins` are
/// right, it holds for all workers of the job. Pure.
Matching match(const std::vector<Recording>& recordings, const StandIns& stand_ins);

}  // namespace riesz
