// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/message_batch.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// Between two looks at all activities. Short beside a message of some size; but it doubles while nothing
/// moves, since each look takes time from what this core computes.
constexpr std::chrono::microseconds kShortestPause(20), kLongestPause(320);
/// Longest pauses with nothing under way before the thread sleeps: to wake it takes a switch of threads,
/// which one who begins something small should not pay each time.
constexpr int kIdlePauses = 16;

thread_local std::uint64_t movements = 0;

class BackgroundThread {
 public:
  ~BackgroundThread() { stop(); }

  void add(std::shared_ptr<Activity> activity) {
    const std::lock_guard lock(mutex_);
    activities_.push_back(std::move(activity));
    if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { run(); });
    if (asleep_) changed_.notify_all();
  }

  void give_up(int first, int end) {
    std::vector<std::shared_ptr<Activity>> kept, given_up;  // these go outside of the lock
    const std::lock_guard lock(mutex_);
    for (std::shared_ptr<Activity>& each : activities_) {
      const bool there = each->stream() >= first && each->stream() < end;
      (there ? given_up : kept).push_back(std::move(each));
    }
    activities_ = std::move(kept);
  }

  void finish() {
    while (const std::shared_ptr<Activity> activity = first()) {
      activity->finish();
      const std::lock_guard lock(mutex_);
      std::erase(activities_, activity);
    }
    stop();
    const std::lock_guard lock(mutex_);
    stopping_ = false;
    if (!activities_.empty())
      thread_ = std::thread([this] { run(); });  // another thread has begun them since
  }

 private:
  std::shared_ptr<Activity> first() {
    const std::lock_guard lock(mutex_);
    return activities_.empty() ? nullptr : activities_.front();
  }

  void run() {
    std::chrono::microseconds pause = kShortestPause;
    int idle = 0;
    while (true) {
      std::unique_lock lock(mutex_);
      if (activities_.empty() && idle >= kIdlePauses) {
        sleep(lock);
        pause = kShortestPause;
      }
      if (stopping_) return;
      std::vector<std::shared_ptr<Activity>> now = activities_;
      lock.unlock();
      idle = now.empty() && pause == kLongestPause ? idle + 1 : 0;
      if (look_at(std::move(now))) {
        pause = kShortestPause;
      } else {
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
      }
    }
  }

  /// Has this thread moved anything? What ended and nobody else holds goes away here.
  bool look_at(std::vector<std::shared_ptr<Activity>> all) {
    const std::uint64_t before = movements;
    const auto under_way =
        std::partition(all.begin(), all.end(), [](const auto& each) { return each->advance(); });
    const std::lock_guard lock(mutex_);
    for (auto ended = all.begin(); ended != under_way; ++ended) std::erase(activities_, *ended);
    return movements != before;
  }

  void sleep(std::unique_lock<std::mutex>& lock) {
    asleep_ = true;
    changed_.wait(lock, [this] { return stopping_ || !activities_.empty(); });
    asleep_ = false;
  }

  void stop() {
    std::thread ending;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ending = std::move(thread_);
      changed_.notify_all();
    }
    if (ending.joinable()) ending.join();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Activity>> activities_;
  std::thread thread_;
  bool stopping_ = false;
  bool asleep_ = false;
};

BackgroundThread& background() {
  static BackgroundThread thread;
  return thread;
}

std::mutex failed_mutex;
std::vector<std::weak_ptr<Activity>> failed;

}  // namespace

/// An error on its way through this thread comes first.
Activity::~Activity() {
  if (failure_ && !thrown_ && std::uncaught_exceptions() == 0) end_job(failure_);
}

bool Activity::advance() {
  if (ended_) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || ended_) return ended_;
  try {
    const at::NoGradGuard no_gradient;  // a thread has its own mode, and its own batch
    const MessageBatch::Pause alone;
    if (go_on()) ended_ = true;
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
    const std::lock_guard all(failed_mutex);
    failed.push_back(weak_from_this());
  }
  return ended_;
}

void Activity::wait() {
  if (!advance()) wait_for_end(text());
  if (!failure_) return;
  thrown_ = true;
  std::rethrow_exception(failure_);
}

void Activity::finish() {
  if (!advance()) wait_for_end(concat(text(), ", begun and not waited for"));
}

std::string Activity::text() {
  const std::lock_guard lock(mutex_);  // the background may be moving it
  return operation();
}

std::vector<int> Activity::awaited() {
  const std::lock_guard lock(mutex_);
  return ended_ ? std::vector<int>{} : waits_for();
}

void Activity::wait_for_end(const std::string& text) {
  wait_until(
      text, [this] { return advance(); }, [this] { return awaited(); });
}

void advance_in_background(std::shared_ptr<Activity> activity) { background().add(std::move(activity)); }

void give_up_background(int first, int end) { background().give_up(first, end); }

void note_movement() { ++movements; }

void finish_background() { background().finish(); }

void throw_lost_failure() {
  std::shared_ptr<Activity> lost;
  {
    const std::lock_guard lock(failed_mutex);
    std::erase_if(failed, [](const auto& each) { return each.expired(); });
    for (const auto& each : failed) {
      if (lost == nullptr || lost->thrown_) lost = each.lock();
    }
  }
  if (lost != nullptr && !lost->thrown_) lost->wait();
}

}  // namespace riesz
