// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>

namespace riesz {

/// A function on a thread of its own that runs only while the one who resumes it waits. Among all routines of
/// a worker, and those who resume them, exactly one runs at a time. It begins with the state of the thread
/// that makes it (`Thread`), and takes one that another has ended on, if there is one. A change costs some
/// microseconds.
class Routine {
 public:
  /// Thrown by `pause` where the routine is not to go on: it ends, and its destructors run.
  struct Cancelled {};

  /// Does not begin yet.
  explicit Routine(std::function<void()> body);
  /// Cancels it, where it has not ended.
  ~Routine();
  Routine(const Routine&) = delete;
  Routine& operator=(const Routine&) = delete;

  /// Begins, or goes on from where it has paused; returns when it pauses again, or ends. @throws what the
  /// body threw.
  void resume();
  bool ended() const;

  /// Called by the body: the one who resumed it goes on, until the next `resume`.
  void pause();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
