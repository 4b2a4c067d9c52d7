// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/wait.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/cancellation.h"
#include "riesz/comm/progress/poke.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/staged_requests.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/trace/range.h"

namespace riesz {
namespace {

constexpr std::chrono::milliseconds kLook(200);
constexpr std::chrono::microseconds kPoke(100);
/// A wait that is over sooner is not on the board, which takes some hundreds of instructions.
constexpr std::chrono::milliseconds kShort(1);
/// So long a wait polls again at once: what is on its way comes sooner than a yield takes, by which another
/// program may have the core for milliseconds.
constexpr std::chrono::microseconds kAtOnce(2);
/// A pause that ends later than this after a look was due finds a worker that was stopped itself.
constexpr std::chrono::seconds kLate(1);
/// So long nothing has to move before a worker sleeps, for to wake it takes some 60 us; and only where a
/// yield has shown that others want the core. Who yields there gives all of a turn away.
constexpr std::chrono::microseconds kAwake(320);
constexpr std::chrono::microseconds kTurn(100);
/// A nap is this part of the time for which nothing has moved, and at most the longest.
constexpr int kNapsPart = 16;
constexpr std::chrono::microseconds kLongestNap(500);
/// The longest while messages wait to be copied out of a device: nothing moves here when they are.
constexpr std::chrono::microseconds kLongestNapForCopies(50);
/// A launcher that notices that a process is gone ends the job, sooner than this; two who do so at once would
/// leave processes behind.
constexpr std::chrono::seconds kLaunchersTurn(3);
/// What a worker of this host sent before it came to its end is in shared memory. Within this time it has
/// been received, also where many workers share a core.
constexpr std::chrono::seconds kLastMessages(2);
/// So long a wait goes on in a thread that was asked to give up.
constexpr std::chrono::seconds kGrace(1);

double deadline_of_environment() {
  const char* text = std::getenv("RIESZ_DEADLINE");
  if (text == nullptr) return 600;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  RIESZ_CHECK(end != text && *end == '\0' && seconds >= 0, "RIESZ_DEADLINE is \"", text,
              "\"; it must be a number of seconds, 0 for no deadline");
  return seconds;
}

std::atomic<double>& deadline_in_seconds() {
  static std::atomic<double> seconds(deadline_of_environment());
  return seconds;
}

using Instant = std::chrono::steady_clock::time_point;

/// Have there been some of `ranks` for longer than that, as far as was looked?
bool for_longer_than(std::chrono::milliseconds time, const std::vector<int>& ranks,
                     std::optional<Instant>& since, Instant now) {
  if (ranks.empty()) since.reset();
  if (!ranks.empty() && !since) since = now;
  return since && now - *since > time;
}

/// `why` the job ends, and what all do.
std::string report(const std::string& operation, double seconds, const std::vector<int>& waits_for,
                   const std::string& why) {
  std::string text = concat("[rank ", Runtime::rank(), " of ", Runtime::size(), "] waited for ", seconds,
                            " s in ", operation, waits_for.empty() ? "" : " for rank ", list_text(waits_for),
                            ", ", why, "; what the workers of this host do:");
  for (const WorkerStatus& status : StatusBoard::read()) {
    const bool late = std::find(waits_for.begin(), waits_for.end(), status.rank) != waits_for.end();
    text += "\n  " + to_string(status) + (late ? "  <- waited for" : "");
  }
  return text;
}

thread_local WaitHandler* innermost_handler = nullptr;

}  // namespace

WaitHandler::WaitHandler() : outer_(std::exchange(innermost_handler, this)) {}
WaitHandler::~WaitHandler() { innermost_handler = outer_; }
WaitHandler* WaitHandler::current() { return innermost_handler; }

void set_deadline(std::chrono::duration<double> deadline) {
  RIESZ_CHECK(deadline.count() >= 0, "set_deadline: ", deadline.count(), " s; it must be zero or more");
  deadline_in_seconds() = deadline.count();
}

std::chrono::duration<double> deadline() {
  return std::chrono::duration<double>(deadline_in_seconds().load());
}

Wait::Wait(const std::string& operation)
    : operation_(operation),
      begin_(std::chrono::steady_clock::now()),
      next_look_(begin_ + kLook),
      next_poke_(begin_ + kPoke),
      moved_at_(begin_),
      moved_(movements_here()),
      number_(0) {
  if (RangeSink* sink = range_sink()) sink->begin(RangeKind::wait, "wait", operation);
}

Wait::~Wait() {
  if (RangeSink* sink = range_sink()) sink->end();
  if (number_ != 0) StatusBoard::wait_ends(number_);
}

bool Wait::pause() {
  const auto before = std::chrono::steady_clock::now();
  if (before - begin_ < kAtOnce) return false;
  const auto idle = before - moved_at_;
  const bool naps = core_is_wanted_ && idle >= kAwake;
  if (naps) {
    const auto longest = Departures::waiting() > 0 ? kLongestNapForCopies : kLongestNap;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(idle / kNapsPart, longest));
  } else {
    std::this_thread::yield();
  }
  // After every pause, which may take long where cores are shared: only one that is very long is a stop.
  const auto now = std::chrono::steady_clock::now();
  core_is_wanted_ = core_is_wanted_ || now - before > kTurn;
  if (number_ == 0 && now - begin_ > kShort) number_ = StatusBoard::wait_begins(operation_);
  if (const std::uint64_t moved = movements_here(); moved != moved_) {
    moved_ = moved;
    moved_at_ = now;
  }
  if (now >= next_poke_) {
    poke();
    next_poke_ = now + kPoke;
  }
  if (now < next_look_) return false;
  if (now > next_look_ + kLate) leave_out(now - next_look_ - kLate);
  next_look_ = now + kLook;
  return true;
}

/// The others may have been stopped with it, so that was no waiting for them.
void Wait::leave_out(std::chrono::steady_clock::duration stopped) {
  begin_ += stopped;
  if (finished_since_) *finished_since_ += stopped;
  if (gone_since_) *gone_since_ += stopped;
}

/// After a while, for what others have sent already still comes.
void Wait::give_up_if_asked() {
  const std::shared_ptr<const Cancellation> cancellation = Cancellation::current();
  if (cancellation == nullptr || !cancellation->asked()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!asked_since_) asked_since_ = now;
  RIESZ_CHECK(now - *asked_since_ <= kGrace, operation_,
              ": given up, since who started this thread leaves by an exception");
}

void Wait::look(const std::vector<int>& waits_for) {
  throw_unreported_failure();
  give_up_if_asked();
  StatusBoard::waits_for(number_, waits_for);
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> waited = now - begin_;
  const std::vector<int> finished = StatusBoard::finished(waits_for);
  if (for_longer_than(kLastMessages, finished, finished_since_, now))
    end_job(report(operation_, waited.count(), waits_for,
                   concat("but the program of rank ", list_text(finished), " has come to its end")));
  const std::vector<int> gone = StatusBoard::gone(waits_for);
  if (for_longer_than(kLaunchersTurn, gone, gone_since_, now))
    end_job(report(operation_, waited.count(), waits_for,
                   concat("but the process of rank ", list_text(gone), " is gone")));
  if (deadline().count() > 0 && waited > deadline()) {
    end_job(report(operation_, waited.count(), waits_for,
                   concat("past the deadline of ", deadline().count(), " s (RIESZ_DEADLINE)")));
  }
}

}  // namespace riesz
