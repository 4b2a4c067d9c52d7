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

/// How long a worker waits for others before it ends the job with a report: 10 minutes, or the seconds of the
/// environment's RIESZ_DEADLINE; 0 means for ever. Of a time in which it was stopped itself (SIGSTOP, a job
/// that is suspended), a second counts. Alike on all workers.
void set_deadline(std::chrono::duration<double> deadline);
std::chrono::duration<double> deadline();

/// One wait inside an operator, on the status board once it has lasted a millisecond. Used by `wait_until`.
class Wait {
 public:
  explicit Wait(const std::string& operation);
  ~Wait();
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  /// Leaves the core to others, so that oversubscribed workers let each other go on: it yields. Where
  /// others want the core and nothing has moved for a while, it sleeps, up to half a millisecond. Now and
  /// then it returns true: it is time to `look`.
  bool pause();
  /// Says on the board who is waited for. Ends the job, with one report of what every worker of this host
  /// does: past the deadline; two seconds after the program of one that is waited for, on this host, came to
  /// its end; three seconds after the process of such a one was gone, if no launcher has ended the job.
  /// @throws what went wrong with an activity that nobody has waited for (`throw_lost_failure`); Error, if
  /// the thread is one that was asked to give up (`Thread`).
  void look(const std::vector<int>& waits_for);

 private:
  void give_up_if_asked();
  void leave_out(std::chrono::steady_clock::duration stopped);

  const std::string& operation_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point next_look_;
  std::optional<std::chrono::steady_clock::time_point> finished_since_;
  std::optional<std::chrono::steady_clock::time_point> gone_since_;
  std::optional<std::chrono::steady_clock::time_point> asked_since_;  // to give up
  std::chrono::steady_clock::time_point moved_at_;                    // or begun
  std::uint64_t moved_;
  bool core_is_wanted_ = false;  // by others, as a long yield has shown
  std::uint64_t number_;         // on the board; 0: not yet
};

/// While it lives, this thread does something else instead of waiting: where it would wait, it calls `until`.
/// Scopes nest. Where threads take turns, `until` gives the turn to others, and has it again when it returns.
class InsteadOfWaiting {
 public:
  InsteadOfWaiting();
  virtual ~InsteadOfWaiting();
  InsteadOfWaiting(const InsteadOfWaiting&) = delete;
  InsteadOfWaiting& operator=(const InsteadOfWaiting&) = delete;

  /// This thread's innermost, or nullptr.
  static InsteadOfWaiting* current();

  /// True: `done()` holds; meanwhile other threads have gone on, and have asked it and `waits_for()`. False:
  /// nothing was done, and the thread waits as it would without this.
  virtual bool until(const std::string& operation, const std::function<bool()>& done,
                     const std::function<std::vector<int>()>& waits_for) = 0;

 private:
  InsteadOfWaiting* outer_;
};

/// Waits in this thread, whatever it could do instead, until `done()`, on behalf of `operation`: asks again
/// and again; `waits_for()` lists the world ranks of those who have not arrived.
template <typename Done, typename WaitsFor>
void wait_here(const std::string& operation, const Done& done, const WaitsFor& waits_for) {
  Wait wait(operation);
  while (!done()) {
    if (wait.pause()) wait.look(waits_for());
  }
}

/// The same, but asks at once, and lets the thread do what it does instead of waiting.
template <typename Done, typename WaitsFor>
void wait_until(const std::string& operation, const Done& done, const WaitsFor& waits_for) {
  if (done()) return;
  InsteadOfWaiting* other = InsteadOfWaiting::current();
  if (other != nullptr && other->until(operation, done, waits_for)) return;
  wait_here(operation, done, waits_for);
}

}  // namespace riesz
