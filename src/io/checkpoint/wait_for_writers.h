// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "riesz/partition/partition.h"

namespace riesz {

/// What one thread writes, for those who wait for it: it rises with each piece that is written or synced.
class WriteProgress {
 public:
  /// A piece is written. By the thread that writes.
  void add() { ++pieces_; }
  /// The thread begins or ends its own part of the work; it writes nothing else in between.
  void set_at_work(bool at_work) { at_work_ = at_work; }

  std::int64_t pieces() const { return pieces_; }
  bool at_work() const { return at_work_; }

 private:
  std::atomic<std::int64_t> pieces_ = 0;
  std::atomic<bool> at_work_ = false;
};

/// Waits until `over(pause)` says on every worker that its thread is done; it returns within about `pause`.
/// The workers meet again and again meanwhile, so that none waits for another's disk as long as a wait may
/// last. A thread at work that makes no progress for a deadline ends the job, and its rank is named with
/// `what`. Collective over P.
void wait_for_writers(const Partition& P, const std::string& what, const WriteProgress& progress,
                      const std::function<bool(std::chrono::microseconds pause)>& over);

/// As `all_or_none`, for a part that writes and may take longer than a wait: it runs on a thread of its own.
/// The part sends no messages. Collective over P. @throws Error as `all_or_none`.
void write_together(const Partition& P, const std::string& what, WriteProgress& progress,
                    const std::function<void()>& part);

}  // namespace riesz
