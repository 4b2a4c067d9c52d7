// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/watch.h"

#include <chrono>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// Clocks count nanoseconds of some centuries: a deadline beyond this never comes.
constexpr std::chrono::hours kNever(100 * 365 * 24);

}  // namespace

Watch::Watch(std::string call) : call_(std::move(call)) {
  if (deadline().count() > 0 && deadline() < kNever) thread_ = start_thread([this] { run(); });
}

Watch::~Watch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  // The board, by which one worker speaks for all, may be closed already. So they speak one after another,
  // until the first of them has ended the job.
  const auto time = deadline() + Runtime::rank() * std::chrono::milliseconds(200);
  if (!changed_.wait_for(lock, time, [this] { return over_; }))
    end_job(concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] waited for ", deadline().count(),
                   " s in ", call_, ", past the deadline (RIESZ_DEADLINE)"));
}

}  // namespace riesz
