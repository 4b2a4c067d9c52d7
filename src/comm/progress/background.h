// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "riesz/comm/progress/background_task.h"
#include "riesz/comm/progress/doorbell.h"

namespace riesz {

/// Advances `task` in the background until it ends, for MPI by itself sends nothing while the program
/// computes. One thread of the process does so for all tasks; it sleeps while there are none. It keeps a task
/// until the task has ended, also if nobody waits for it. Only `abandon_background` and
/// `let_go_in_background` drop a task before.
void run_in_background(std::shared_ptr<BackgroundTask> task);

/// Notes that this thread has moved a message or part of one. If it is the background thread, it looks again
/// soon, for more may follow.
void note_movement();
/// The number of movements that this thread has noted.
std::uint64_t movements_here();
/// The number of movements that all threads of this process have noted.
std::uint64_t movements();

/// Sets the doorbell that wakes the background thread. Others ring it when they have moved something to or
/// from this worker. With nullptr nobody rings, and the thread looks from time to time.
void wake_background_by(std::shared_ptr<Doorbell> doorbell);
/// The longest sleep of the background thread if others ring; by default `kLongestSleep`. While waiting
/// threads poll all tasks themselves (`Watching`), nobody needs to ring, and it looks from time to time.
void set_longest_sleep(std::chrono::microseconds pause);
inline constexpr std::chrono::microseconds kLongestSleep(2560);

/// Wakes the background thread, which then looks often while messages wait for a device (`Departures`).
void look_soon_in_background();

/// Returns when all tasks have ended; past the deadline of one it ends the job, with a report. `Runtime`
/// calls it before it ends MPI.
void finish_background();

/// Drops the tasks of channels `first` to `end` − 1 that nobody else holds. Their messages may never come,
/// for the senders have given up too. Messages that still arrive are kept and never read, so these channels
/// must not be used again.
void abandon_background(int first, int end);

/// A promise: while it lives, this thread polls the task, so that the background need not.
class Watching {
 public:
  explicit Watching(const BackgroundTask& task);
  ~Watching();
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  const BackgroundTask& task_;
};
/// The background drops the task, which then goes on only if others poll it.
void let_go_in_background(const BackgroundTask& task);

}  // namespace riesz
