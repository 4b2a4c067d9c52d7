// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/background.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/poke.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/staged_requests.h"
#include "riesz/comm/thread.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// Between two looks at all tasks, where nobody rings. Short beside a message of some size; but it
/// doubles while nothing moves, since each look takes some 20 us from what this core computes.
constexpr std::chrono::microseconds kShortestPause(20), kLongestPause(320);
/// While messages wait to be copied out of a device: nobody rings when a copy is done.
constexpr std::chrono::microseconds kCopyPause(50);
/// Longest pauses with nothing under way before the thread sleeps: to wake it takes a switch of threads,
/// which one who begins something small should not pay each time. Where others ring, each is twice the one
/// before.
constexpr int kIdlePauses = 16, kIdlePausesRung = 4;

/// How long to sleep, if it were `pause` without a device.
std::chrono::microseconds with_copies(std::chrono::microseconds pause) {
  return Departures::waiting() > 0 ? std::min(pause, kCopyPause) : pause;
}

thread_local std::uint64_t moved_here = 0;
std::atomic<std::uint64_t> moved = 0;

class BackgroundThread {
 public:
  /// True: what came for it until now was not rung for.
  bool add(std::shared_ptr<BackgroundTask> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable() && !stopping_) thread_ = start_thread([this] { run(); });
    if (asleep_) changed_.notify_all();
    if (listens_) doorbell_->listen();
    return listens_;
  }

  void let_go(const BackgroundTask& task) {
    std::shared_ptr<BackgroundTask> gone;
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(tasks_.begin(), tasks_.end(), [&](const auto& each) { return each.get() == &task; });
    if (found == tasks_.end()) return;
    gone = std::move(*found);
    tasks_.erase(found);
  }

  void give_up(int first, int end) {
    std::vector<std::shared_ptr<BackgroundTask>> kept, given_up;  // these go outside of the lock
    const std::lock_guard lock(mutex_);
    for (std::shared_ptr<BackgroundTask>& each : tasks_) {
      const bool there = each->channel() >= first && each->channel() < end;
      (there ? given_up : kept).push_back(std::move(each));
    }
    tasks_ = std::move(kept);
  }

  void wake_by(std::shared_ptr<Doorbell> doorbell) {
    const std::lock_guard lock(mutex_);
    if (doorbell_) doorbell_->ring();
    doorbell_ = std::move(doorbell);
    listens_ = false;
  }

  void set_longest_sleep(std::chrono::microseconds pause) {
    const std::lock_guard lock(mutex_);
    longest_sleep_ = pause;
    if (!listens_) return;
    doorbell_->listen();
    doorbell_->ring();
  }

  void look_soon() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (listens_) doorbell_->ring();
  }

  void watch(const BackgroundTask& task) {
    const std::lock_guard lock(mutex_);
    watched_.push_back(&task);
    if (listens_ && all_watched()) doorbell_->ignore();
  }

  void unwatch(const BackgroundTask& task) {
    const std::lock_guard lock(mutex_);
    watched_.erase(std::find(watched_.begin(), watched_.end(), &task));
    if (!listens_ || all_watched()) return;
    doorbell_->listen();
    if (!task.ended()) doorbell_->ring();  // what came since the last look was not rung for
  }

  void finish() {
    while (const std::shared_ptr<BackgroundTask> task = first()) {
      task->finish();
      const std::lock_guard lock(mutex_);
      std::erase(tasks_, task);
    }
    stop();
    const std::lock_guard lock(mutex_);
    stopping_ = false;
    if (!tasks_.empty()) thread_ = start_thread([this] { run(); });  // another thread has begun them since
  }

  /// For good, if `finish` has not begun it again.
  void stop() {
    std::thread ending;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ending = std::move(thread_);
      changed_.notify_all();
      if (doorbell_) doorbell_->ring();
    }
    if (ending.joinable()) ending.join();
  }

 private:
  std::shared_ptr<BackgroundTask> first() {
    const std::lock_guard lock(mutex_);
    return tasks_.empty() ? nullptr : tasks_.front();
  }

  /// Under the lock. True: others are to ring from here on. They are not for what has begun since the last
  /// look, which may end sooner than this thread wakes.
  bool listen(const std::vector<const BackgroundTask*>& seen) {
    listens_ = doorbell_ && std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& each) {
                 return std::find(seen.begin(), seen.end(), each.get()) != seen.end();
               });
    if (!listens_ || all_watched()) return false;
    doorbell_->listen();
    return true;
  }

  /// Under the lock. Does some thread look at each of them, so that none needs this one?
  bool all_watched() const {
    return std::all_of(tasks_.begin(), tasks_.end(), [&](const auto& each) {
      return each->ended() || std::find(watched_.begin(), watched_.end(), each.get()) != watched_.end();
    });
  }

  void run() {
    name_thread("background communication");
    std::chrono::microseconds pause = kShortestPause;
    int idle = 0;
    std::vector<const BackgroundTask*> seen;
    while (true) {
      std::unique_lock lock(mutex_);
      if (tasks_.empty() && idle >= (doorbell_ ? kIdlePausesRung : kIdlePauses)) {
        sleep(lock);
        pause = kShortestPause;
      }
      if (stopping_) return;
      std::vector<std::shared_ptr<BackgroundTask>> now = tasks_;
      const std::shared_ptr<Doorbell> doorbell = doorbell_;
      const bool listens = listen(seen);
      const std::chrono::microseconds longest_sleep = longest_sleep_;
      lock.unlock();
      idle = now.empty() && pause == kLongestPause ? idle + 1 : 0;
      seen.clear();
      for (const auto& each : now) seen.push_back(each.get());
      poke();  // for what the last tasks have sent
      if (look_at(std::move(now))) {
        pause = kShortestPause;
      } else if (listens) {
        doorbell->wait(with_copies(longest_sleep));
      } else {
        if (doorbell) pause = kLongestPause * (1 << idle);
        rest(pause);
        pause = std::min(2 * pause, kLongestPause);
      }
    }
  }

  /// Has this thread moved anything? What ended and nobody else holds goes away here.
  bool look_at(std::vector<std::shared_ptr<BackgroundTask>> all) {
    const std::uint64_t before = moved_here;
    const auto under_way =
        std::partition(all.begin(), all.end(), [](const auto& each) { return each->advance(); });
    const std::lock_guard lock(mutex_);
    for (auto ended = all.begin(); ended != under_way; ++ended) std::erase(tasks_, *ended);
    return moved_here != before;
  }

  void rest(std::chrono::microseconds pause) {
    std::unique_lock lock(mutex_);
    if (!stopping_) changed_.wait_for(lock, with_copies(pause));
  }

  void sleep(std::unique_lock<std::mutex>& lock) {
    asleep_ = true;
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    asleep_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<BackgroundTask>> tasks_;
  std::shared_ptr<Doorbell> doorbell_;
  std::chrono::microseconds longest_sleep_ = kLongestSleep;
  std::thread thread_;
  std::vector<const BackgroundTask*> watched_;  // by the threads that wait for them
  bool listens_ = false;                        // the thread rests until somebody rings
  bool stopping_ = false;
  bool asleep_ = false;
};

/// Stops the thread when the process ends.
struct Stopper {
  ~Stopper() { thread.stop(); }
  BackgroundThread& thread;
};

/// Never destroyed: an object of the program that goes after this source's may still drop a task or begin
/// one.
BackgroundThread& background() {
  static BackgroundThread& thread = *new BackgroundThread;
  static const Stopper at_the_end{thread};
  return thread;
}

}  // namespace

Watching::Watching(const BackgroundTask& task) : task_(task) { background().watch(task_); }
Watching::~Watching() { background().unwatch(task_); }

void let_go_in_background(const BackgroundTask& task) { background().let_go(task); }

void run_in_background(std::shared_ptr<BackgroundTask> task) {
  task->given_to_background();
  if (background().add(task) && task->advance()) background().let_go(*task);
}

void wake_background_by(std::shared_ptr<Doorbell> doorbell) { background().wake_by(std::move(doorbell)); }

void set_longest_sleep(std::chrono::microseconds pause) { background().set_longest_sleep(pause); }

void look_soon_in_background() { background().look_soon(); }

void abandon_background(int first, int end) { background().give_up(first, end); }

void note_movement() {
  ++moved_here;
  // No atomic addition, which would wait for the lines just written to a ring. Should two threads count as
  // one here, the number changes all the same.
  moved.store(moved.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::uint64_t movements_here() { return moved_here; }

std::uint64_t movements() { return moved.load(std::memory_order_relaxed); }

void finish_background() {
  background().finish();
  end_held_failures();
}

}  // namespace riesz
