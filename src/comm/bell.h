// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace riesz {

/// In memory that processes share, zeros at first: one of them listens, the others ring when they have put
/// something there for it. It listens first and looks then, so nothing is missed. Private to this room.
class Bell {
 public:
  /// Wakes who listens, who listens no more then. Where nobody does it is one look at a word.
  void ring();

  void listen() { word_.store(kListens, std::memory_order_seq_cst); }
  void ignore() { word_.store(kNobody, std::memory_order_relaxed); }
  /// Sleeps until it rings, or the time is over; not at all, if it has rung since `listen`.
  void wait(std::chrono::microseconds most);

 private:
  static constexpr std::uint32_t kNobody = 0, kListens = 1;

  alignas(64) std::atomic<std::uint32_t> word_;
};

}  // namespace riesz
