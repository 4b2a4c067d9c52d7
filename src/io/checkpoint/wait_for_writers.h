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

/// The progress of a writing thread, for those who wait for it: it rises with each piece that is written or
/// synced.
class WriteProgress {
 public:
  /// Counts a piece. The writing thread calls it.
  void add() { ++pieces_; }
  /// The thread begins or ends its own part of the work; it writes nothing else in between.
  void set_at_work(bool at_work) { at_work_ = at_work; }

  std::int64_t pieces() const { return pieces_; }
  bool at_work() const { return at_work_; }

 private:
  std::atomic<std::int64_t> pieces_ = 0;
  std::atomic<bool> at_work_ = false;
};

/// Waits until `over(pause)`, which takes about `pause`, says on every worker that its thread is done. The
/// workers communicate repeatedly meanwhile, so that no wait for a slow disk times out. A thread at work
/// without progress for a deadline ends the job; the message names its rank and `what`. Collective over P.
void wait_for_writers(const Partition& P, const std::string& what, const WriteProgress& progress,
                      const std::function<bool(std::chrono::microseconds pause)>& over);

/// As `all_or_none`, for a part that writes and may take longer than a wait may last. It runs on a thread of
/// its own, and must send no messages. Collective over P. @throws Error as `all_or_none`.
void write_together(const Partition& P, const std::string& what, WriteProgress& progress,
                    const std::function<void()>& part);

}  // namespace riesz
