// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/channel.h"
#include "riesz/comm/device_stream.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/recording/strand.h"

namespace riesz {

/// A background task: work that makes progress when a thread calls `advance`, such as a waiting thread or the
/// background thread. Held by shared_ptr. No failure is lost: the task's `wait` throws it, or any other wait
/// of this process that lasts longer than a moment. If nothing has thrown it when the task is destroyed, the
/// job ends, unless another exception is under way. A failed task with `holds_failure` is kept until
/// something throws its failure. Work and failures are of the layer in which the task was made. Its work on a
/// device is queued in the stream that was current where it was made.
class BackgroundTask : public std::enable_shared_from_this<BackgroundTask> {
 public:
  virtual ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  /// Makes what progress it can without waiting; true once the task has ended, well or not. From any thread.
  bool advance();

  /// Waits for the end, and lets the current stream wait for the task's; past the deadline the job ends, with
  /// a report. @throws what went wrong on the way.
  void wait();
  /// Waits for the end of a task that nobody has waited for, but does not throw its failure.
  /// `finish_background` calls it.
  void finish();
  /// World ranks of the workers whose messages have not arrived.
  std::vector<int> awaited();
  /// The channel of messages in which it was made.
  int channel() const { return channel_; }
  /// True if this thread is inside the `advance` of a task.
  static bool advances_here();
  /// True once `advance` has returned true.
  bool ended() const { return ended_; }
  /// Notes that the background looks at it. `run_in_background` calls it.
  void given_to_background() { in_background_ = true; }

 protected:
  explicit BackgroundTask(at::Device works_on = at::kCPU) : stream_(works_on) {}

  // Called by one thread at a time.

  /// Makes progress without waiting; true at the end.
  virtual bool progress() = 0;
  /// The operation that it is in, for people.
  virtual const std::string& operation() const = 0;
  /// World ranks of the workers whose messages have not arrived.
  virtual std::vector<int> waits_for() const = 0;
  /// Where it queues its work.
  const DeviceStream& stream() const { return stream_; }
  /// True if a task that failed is kept until something throws its failure, also if nobody else holds the
  /// task.
  virtual bool holds_failure() const { return false; }

 private:
  friend void throw_unreported_failure();

  /// The time now if a range sink is set, else the epoch.
  static std::chrono::steady_clock::time_point begin_of_range();

  std::string text();
  void wait_for_end(const std::string& text);

  int channel_ = current_channel();
  Strand strand_;
  DeviceStream stream_;
  std::shared_ptr<const Origin> origin_ = LayerScope::current();  // where it was made
  std::chrono::steady_clock::time_point begin_ = begin_of_range();
  std::mutex mutex_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> in_background_ = false;
  std::exception_ptr failure_;  // written before `ended_` is
  std::atomic<bool> thrown_ = false;
};

/// @throws the failure of a task that nobody has waited for yet. Every wait that lasts calls it, for after
/// such a failure the wait may never end.
void throw_unreported_failure();
/// Ends the job with a failure that was held and that nothing has thrown. `finish_background` calls it.
void end_held_failures();

}  // namespace riesz
