// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace riesz {

/// A doorbell: a word in shared memory on which a worker sleeps until another worker of its host wakes it. It
/// is zero at first. One process listens. Others ring when they have put a message or an answer into shared
/// memory for it. The listener calls `listen` first and looks then, so it misses nothing. Private to
/// src/comm.
class Doorbell {
 public:
  /// Wakes the listener, which then listens no more. Costs one look at a word if nobody listens.
  void ring();

  void listen() { word_.store(kListens, std::memory_order_seq_cst); }
  void ignore() { word_.store(kNobody, std::memory_order_relaxed); }
  /// Sleeps until somebody rings, at most for `most`. Returns immediately if somebody has rung since
  /// `listen`.
  void wait(std::chrono::microseconds most);

 private:
  static constexpr std::uint32_t kNobody = 0, kListens = 1;

  alignas(64) std::atomic<std::uint32_t> word_;
};

}  // namespace riesz
