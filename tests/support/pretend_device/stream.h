// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/Stream.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "riesz/testing/pretend_device.h"

namespace riesz::testing::pretend {

/// The place of a piece of work in its stream's queue: the first is 1.
using Number = std::uint64_t;

/// A stream: a queue of work, and the thread that does it in order. The thread comes with the first work.
class Stream {
 public:
  explicit Stream(c10::StreamId id);

  Number add(std::function<void()> work);
  Number last() const;

  /// True if all up to this number is done.
  bool done(Number number) const;
  /// Lets the thread come as far as this.
  void release(Number number);
  /// Waits until all up to this number is done, or the process ends.
  void wait(Number number);
  /// Ends the thread, whatever is queued.
  void stop();

 private:
  void run();
  void draw_hold();

  mutable std::mutex mutex_;
  std::condition_variable released_or_stopped_;
  std::condition_variable came_on_;
  std::deque<std::function<void()>> work_;
  Number last_ = 0;
  Number done_ = 0;
  Number released_ = 0;
  std::uint64_t draws_;     // the state of its random numbers
  std::uint64_t held_ = 0;  // so many more pieces are added before the queue is released
  bool stopped_ = false;
  std::thread thread_;
};

/// How many streams there are besides the default one, whose id is 0. New streams share them in turn.
inline constexpr c10::StreamId kStreams = 32;

Stream& stream(c10::StreamId id);
c10::StreamId new_stream();
c10::StreamId current_stream();
/// Sets this thread's current stream; the one before.
c10::StreamId change_stream(c10::StreamId id);

/// Calls f of every stream that has been used.
void each_stream(const std::function<void(c10::StreamId, Stream&)>& f);

/// Waits, as the host, for all that is queued in a stream, by default the current one. It is counted under
/// this name.
/// @throws what went wrong in queued work.
void host_wait(const std::string& name);
void host_wait(c10::StreamId of, const std::string& name);
/// The same for an event: for all up to this number.
void host_wait_for_event(c10::StreamId of, Number number);
/// The host has found that the stream has not come as far as this number.
void found_unfinished(c10::StreamId of, Number number);

/// Keeps what went wrong in queued work until somebody waits.
void failed(std::exception_ptr error);
void throw_what_failed();

}  // namespace riesz::testing::pretend
