// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/bell.h"
#include "riesz/comm/recording/strand.h"
#include "riesz/comm/stream.h"

namespace riesz {

/// Something under way that goes on when it is asked to: by the one who waits for it, and in the background.
/// Held by shared_ptr. What goes wrong with it is not lost: its `wait` throws it, or any other wait of this
/// process that lasts longer than a moment; if nobody has by the time it is destroyed, it ends the job.
class Activity : public std::enable_shared_from_this<Activity> {
 public:
  virtual ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Goes as far as it can without waiting; true once it has ended, well or not. From any thread.
  bool advance();

  /// Waits for the end; past the deadline the job ends, with a report. @throws what went wrong on the way.
  void wait();
  /// The same for what nobody has waited for, but throws nothing of its own; for `finish_background`.
  void finish();
  /// World ranks of those who have not arrived, now.
  std::vector<int> awaited();
  /// The stream of messages in which it was made.
  int stream() const { return stream_; }
  /// Is this thread inside the `advance` of one?
  static bool advances_here();
  /// Has `advance` said so?
  bool ended() const { return ended_; }

 protected:
  Activity() = default;

  // Called by one thread at a time.

  /// Goes on without waiting; true at the end.
  virtual bool go_on() = 0;
  /// What it is in, for people.
  virtual const std::string& operation() const = 0;
  /// World ranks of those who have not arrived.
  virtual std::vector<int> waits_for() const = 0;

 private:
  friend void throw_lost_failure();

  std::string text();
  void wait_for_end(const std::string& text);

  int stream_ = current_stream();
  Strand strand_;
  std::mutex mutex_;
  std::atomic<bool> ended_ = false;
  std::exception_ptr failure_;  // written before `ended_` is
  std::atomic<bool> thrown_ = false;
};

/// Advances `activity` in the background until it ends, since MPI alone moves nothing while the program
/// computes. One thread of the process does so for all activities; it sleeps while there are none. What has
/// begun is kept until it has ended, also if nobody waits for it.
void advance_in_background(std::shared_ptr<Activity> activity);

/// Says that this thread has moved a message, or a piece of one, of what is under way. More may follow soon,
/// so the background looks again soon where it was itself that moved it.
void note_movement();
/// How often this thread has.
std::uint64_t movements_here();

/// Others ring this bell when they have moved something to or from this worker, and the background sleeps by
/// it; nullptr: nobody rings, so it looks from time to time.
void wake_background_by(std::shared_ptr<Bell> bell);
/// How long the background sleeps at most where others ring; by default `kRungPause`. Nobody rings while a
/// thread waits for each activity under way, and looks at it again and again itself.
void set_rung_pause(std::chrono::microseconds pause);
inline constexpr std::chrono::microseconds kRungPause(2560);

/// Returns when all activities have ended; past the deadline of one it ends the job, with a report. `Runtime`
/// calls it before it ends MPI.
void finish_background();

/// Lets go of what is under way in streams from `first` to before `end` and nobody holds otherwise: its
/// messages may never come, since those who were to send them have given up too. What others still send there
/// is kept and never read, so nothing else is to use these streams.
void give_up_background(int first, int end);

/// @throws what went wrong with an activity that nobody has waited for yet. Called by every wait that lasts,
/// which after such an error may never end.
void throw_lost_failure();

}  // namespace riesz
