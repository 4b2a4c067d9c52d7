// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/background_task.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/range.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

thread_local bool advances = false;

/// While it lives, this thread advances a task.
class Advancing {
 public:
  Advancing() : before_(std::exchange(advances, true)) {}
  ~Advancing() { advances = before_; }
  Advancing(const Advancing&) = delete;
  Advancing& operator=(const Advancing&) = delete;

 private:
  bool before_;
};

std::mutex failed_mutex;
std::vector<std::weak_ptr<BackgroundTask>> failed;
std::vector<std::shared_ptr<BackgroundTask>> held;  // of those, until they are thrown

}  // namespace

/// An error on its way through this thread comes first.
BackgroundTask::~BackgroundTask() {
  if (failure_ && !thrown_ && std::uncaught_exceptions() == 0) end_job(failure_);
}

std::chrono::steady_clock::time_point BackgroundTask::begin_of_range() {
  if (range_sink() == nullptr) return {};
  return std::chrono::steady_clock::now();
}

bool BackgroundTask::advance() {
  if (ended_) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || ended_) return ended_;
  try {
    const at::NoGradGuard no_gradient;  // a thread has its own mode
    const Advancing here;
    const Strand::Scope recorded(strand_);
    const LayerScope layer(origin_);  // on whatever thread
    const DeviceStream::Scope queued(stream_);
    if (progress()) {
      if (RangeSink* sink = range_sink(); sink != nullptr && begin_ != decltype(begin_)())
        sink->was_in_flight(operation(), begin_);
      ended_ = true;
    }
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
    const std::lock_guard all(failed_mutex);
    failed.push_back(weak_from_this());
    if (holds_failure()) held.push_back(shared_from_this());
  }
  return ended_;
}

bool BackgroundTask::advances_here() { return advances; }

void BackgroundTask::wait() {
  if (!advance()) wait_for_end(text());
  strand_.join();
  if (in_background_) let_go_in_background(*this);
  if (!failure_) return stream_.join();
  thrown_ = true;
  {
    const std::lock_guard lock(failed_mutex);
    std::erase_if(held, [this](const auto& each) { return each.get() == this; });
  }
  const LayerScope layer(origin_);
  std::rethrow_exception(failure_);
}

void BackgroundTask::finish() {
  if (!advance()) wait_for_end(concat(text(), ", begun and not waited for"));
}

std::string BackgroundTask::text() {
  const std::lock_guard lock(mutex_);  // the background may be moving it
  return operation();
}

std::vector<int> BackgroundTask::awaited() {
  const std::lock_guard lock(mutex_);
  return ended_ ? std::vector<int>{} : waits_for();
}

void BackgroundTask::wait_for_end(const std::string& text) {
  const auto done = [this] { return advance(); };
  const auto late = [this] { return awaited(); };
  WaitHandler* other = WaitHandler::current();
  if (other != nullptr && other->until(text, done, late)) return;  // nobody looks while that goes on
  const Watching watching(*this);
  wait_here(text, done, late);
}

void throw_unreported_failure() {
  std::shared_ptr<BackgroundTask> lost;
  {
    const std::lock_guard lock(failed_mutex);
    std::erase_if(failed, [](const auto& each) { return each.expired(); });
    for (const auto& each : failed) {
      if (lost == nullptr || lost->thrown_) lost = each.lock();
    }
  }
  if (lost != nullptr && !lost->thrown_) lost->wait();
}

void end_held_failures() {
  std::vector<std::shared_ptr<BackgroundTask>> left;
  const std::lock_guard lock(failed_mutex);
  left.swap(held);
}

}  // namespace riesz
