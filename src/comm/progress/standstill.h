// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "riesz/comm/status_board.h"

namespace riesz {

/// True if each of `peers` waits, in its only thread, only for the worker `rank` or for workers that do so in
/// turn. Then nobody takes what `rank` has sent. The status board says it. False if the board does not tell,
/// as for other hosts, and if a worker has other threads, which may yet send or receive. Also false for
/// workers that wait only for each other: what moves between them does not show here. Private to src/comm.
bool all_wait_for(int rank, const std::vector<int>& peers, const std::vector<WorkerStatus>& board);

/// A standstill: a timer that tells whether workers wait for each other for ever, or a long message is on its
/// way. Private to src/comm.
class Standstill {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// True if it has lasted for 5 s (`set_standstill`) until `now`, and as long again for each whole GiB of
  /// `bytes`. `stuck`: all wait for each other. `moved`: movements of this process so far. A movement ends a
  /// standstill. A long message over MPI shows as one movement for each GiB.
  bool lasts(bool stuck, std::uint64_t moved, std::int64_t bytes, Instant now);

 private:
  std::uint64_t moved_ = 0;
  Instant since_;
};

/// How long a standstill lasts until it is one; tests shorten it.
void set_standstill(std::chrono::milliseconds time);
inline constexpr std::chrono::seconds kStandstill(5);

}  // namespace riesz
