// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/stop_signals.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace riesz {
namespace {

/// What has come of one kind.
struct Came {
  std::atomic<int> times = 0;
  std::atomic<std::int64_t> first = 0;  // in nanoseconds
};

// A handler may use atomics that take no lock, and these calls of the system.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);
std::array<Came, 3> came_by_kind;
std::atomic<std::int64_t> patience_in_nanoseconds = 0;

std::int64_t now_in_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

std::size_t kind_of(int signal) { return signal == SIGINT ? 0 : signal == SIGTERM ? 1 : 2; }

void remember(int signal) {
  const int reason = errno;
  Came& came = came_by_kind[kind_of(signal)];
  const std::int64_t now = now_in_nanoseconds();
  const int times = ++came.times;
  if (times == 1) came.first = now;
  if (times > 2 || (times == 2 && now - came.first > patience_in_nanoseconds)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // it comes when this returns
  }
  errno = reason;
}

/// Room for what the kernel saves, which depends on the processor's registers, and for `remember`.
std::size_t stack_bytes() {
  constexpr long kUsual = 64 << 10;
  return std::size_t(std::max(kUsual, ::sysconf(_SC_SIGSTKSZ)));
}

}  // namespace

StopSignals::StopSignals(std::chrono::milliseconds patience) {
  for (Came& came : came_by_kind) came.times = 0;
  patience_in_nanoseconds = std::chrono::nanoseconds(patience).count();
  stack_t stack{};
  stack.ss_size = stack_bytes();
  stack_ = std::make_unique<std::byte[]>(stack.ss_size);
  stack.ss_sp = stack_.get();
  ::sigaltstack(&stack, &stack_before_);
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // What is ignored stays ignored, as SIGINT in a shell's background job.
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  ::sigaltstack(&stack_before_, nullptr);
}

bool StopSignals::came() {
  for (const Came& came : came_by_kind) {
    if (came.times > 0) return true;
  }
  return false;
}

}  // namespace riesz
