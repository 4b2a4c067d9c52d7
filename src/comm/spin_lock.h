// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace riesz {

/// A spin lock: a mutex whose `unlock` is a plain store. The `unlock` of std::mutex is an atomic exchange,
/// which waits until the cache lines of all writes before it have come. A thread that waits for the lock
/// yields, and naps if that goes on, for who holds it may need this core.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; !try_lock(); ++tries) {
      if (tries < kYields)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kNap);
    }
  }
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kYields = 100;
  static constexpr std::chrono::microseconds kNap{20};

  std::atomic<bool> held_ = false;
};

}  // namespace riesz
