// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace riesz {
namespace {

/// Between two looks at all activities: short beside a message of some size, long enough to leave the core to
/// compute.
constexpr std::chrono::microseconds kPause(20);

class BackgroundThread {
 public:
  ~BackgroundThread() { stop(); }

  void add(std::shared_ptr<Activity> activity) {
    const std::lock_guard lock(mutex_);
    activities_.push_back(std::move(activity));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
  }

  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return activities_.empty(); });
    lock.unlock();
    stop();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !activities_.empty(); });
      if (stopping_) return;
      const std::vector<std::shared_ptr<Activity>> now = activities_;
      lock.unlock();
      std::vector<std::shared_ptr<Activity>> ended;
      for (const auto& activity : now) {
        if (activity->advance()) ended.push_back(activity);
      }
      if (ended.empty()) std::this_thread::sleep_for(kPause);
      lock.lock();
      for (const auto& activity : ended) std::erase(activities_, activity);
      if (activities_.empty()) changed_.notify_all();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    stopping_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Activity>> activities_;
  std::thread thread_;
  bool stopping_ = false;
};

BackgroundThread& background() {
  static BackgroundThread thread;
  return thread;
}

}  // namespace

void advance_in_background(std::shared_ptr<Activity> activity) { background().add(std::move(activity)); }

void finish_background() { background().finish(); }

}  // namespace riesz
