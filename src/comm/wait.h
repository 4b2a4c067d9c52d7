// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace riesz {

/// The deadline: the time that a worker waits for others before it ends the job with a report. It is 10
/// minutes, or the seconds in the environment's RIESZ_DEADLINE; 0: for ever. Time for which the worker itself
/// was suspended (SIGSTOP) counts as one second. The same on all workers.
void set_deadline(std::chrono::duration<double> deadline);
std::chrono::duration<double> deadline();

/// A wait for other workers inside an operator. It is on the status board once it has lasted a millisecond.
/// Code that polls makes one, such as `wait_here`.
class Wait {
 public:
  explicit Wait(const std::string& operation);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// In the first microseconds it returns immediately, for a message that is under way usually comes by then.
  /// Then it yields the core, so that oversubscribed workers make progress. If others want the core and
  /// nothing has moved for a while, it sleeps, up to half a millisecond. Returns true now and then, when it
  /// is time to `look`.
  bool pause();
  /// Writes on the status board who is waited for. Ends the job, with one report of what every worker of this
  /// host does, in three cases: (1) the deadline is over; (2) a worker of this host that is waited for has
  /// ended its program two seconds ago; (3) the process of such a worker is gone for three seconds, and no
  /// launcher has ended the job.
  /// @throws the failure of a task that nobody has waited for (`throw_unreported_failure`); Error if this
  /// thread was asked to give up (`Thread`).
  void look(const std::vector<int>& waits_for);

 private:
  void give_up_if_asked();
  void leave_out(std::chrono::steady_clock::duration stopped);

  const std::string& operation_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point next_look_;
  std::chrono::steady_clock::time_point next_poke_;
  std::optional<std::chrono::steady_clock::time_point> finished_since_;
  std::optional<std::chrono::steady_clock::time_point> gone_since_;
  std::optional<std::chrono::steady_clock::time_point> asked_since_;  // to give up
  std::chrono::steady_clock::time_point moved_at_;                    // or begun
  std::uint64_t moved_;
  bool core_is_wanted_ = false;  // by others, as a long yield has shown
  std::uint64_t number_;         // on the board; 0: not yet
};

/// A wait handler: an object whose `until` this thread calls where it would wait, as long as the object
/// lives. Scopes nest. If threads take turns, `until` lets others run, and returns when it is this thread's
/// turn again.
class WaitHandler {
 public:
  WaitHandler();
  virtual ~WaitHandler();
  WaitHandler(const WaitHandler&) = delete;
  WaitHandler& operator=(const WaitHandler&) = delete;

  /// This thread's innermost wait handler, or nullptr.
  static WaitHandler* current();

  /// Returns true once `done()` holds. Other threads have run meanwhile, and may have called `done` and
  /// `waits_for`. Returns false if it did nothing: then the thread waits as usual.
  virtual bool until(const std::string& operation, const std::function<bool()>& done,
                     const std::function<std::vector<int>()>& waits_for) = 0;

 private:
  WaitHandler* outer_;
};

/// Polls `done()` in this thread, without its wait handler, until it holds. Reports name the wait by
/// `operation`. `waits_for()` lists the world ranks whose messages have not arrived.
template <typename Done, typename WaitsFor>
void wait_here(const std::string& operation, const Done& done, const WaitsFor& waits_for) {
  Wait wait(operation);
  while (!done()) {
    if (wait.pause()) wait.look(waits_for());
  }
}

/// The same, but after one poll the thread's wait handler waits, if there is one.
template <typename Done, typename WaitsFor>
void wait_until(const std::string& operation, const Done& done, const WaitsFor& waits_for) {
  if (done()) return;
  WaitHandler* other = WaitHandler::current();
  if (other != nullptr && other->until(operation, done, waits_for)) return;
  wait_here(operation, done, waits_for);
}

}  // namespace riesz
