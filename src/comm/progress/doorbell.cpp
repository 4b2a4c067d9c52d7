// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace riesz {
namespace {

// std::atomic's own wait is for the threads of one process.
void system_call(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* most) {
  static_assert(sizeof word == sizeof value && std::atomic<std::uint32_t>::is_always_lock_free);
  syscall(SYS_futex, &word, operation, value, most, nullptr, 0);
}

}  // namespace

void Doorbell::ring() {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what was put is seen by who listens after this
  if (word_.load(std::memory_order_relaxed) != kListens) return;
  if (word_.exchange(kNobody, std::memory_order_relaxed) == kListens)
    system_call(word_, FUTEX_WAKE, 1, nullptr);
}

void Doorbell::wait(std::chrono::microseconds most) {
  timespec time{};
  time.tv_sec = most.count() / 1'000'000;
  time.tv_nsec = most.count() % 1'000'000 * 1000;
  system_call(word_, FUTEX_WAIT, kListens, &time);
}

}  // namespace riesz
