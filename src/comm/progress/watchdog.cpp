// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// Clocks count nanoseconds of some centuries: a deadline beyond this never comes.
constexpr std::chrono::hours kNever(100 * 365 * 24);
constexpr std::chrono::milliseconds kLook(200);
/// A look that comes later than this finds a process that was stopped itself.
constexpr std::chrono::seconds kLate(1);

}  // namespace

Watchdog::Watchdog(std::string call, std::function<std::string()> more)
    : rank_(Runtime::active() ? Runtime::rank() : launched_rank().value_or(0)),
      size_(Runtime::active() ? Runtime::size() : launched_size().value_or(1)),
      call_(std::move(call)),
      more_(std::move(more)) {
  if (deadline().count() > 0 && deadline() < kNever) thread_ = start_thread([this] { run(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::run() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  // The board, by which one worker speaks for all, may not be open. So they speak one after another, until
  // the first of them has ended the job.
  const auto time = deadline() + rank_ * std::chrono::milliseconds(200);
  std::chrono::duration<double> waited(0);
  while (waited < time) {
    const auto before = Clock::now();
    if (changed_.wait_for(lock, std::min<std::chrono::duration<double>>(time - waited, kLook),
                          [this] { return over_; }))
      return;
    waited += std::min<std::chrono::duration<double>>(Clock::now() - before, kLook + kLate);
  }
  end_job(concat("[rank ", rank_, " of ", size_, "] waited for ", waited.count(), " s in ", call_,
                 ", past the deadline of ", deadline().count(), " s (RIESZ_DEADLINE)", more_ ? more_() : ""));
}

}  // namespace riesz
