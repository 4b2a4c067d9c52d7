// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/trace/range.h"

namespace riesz {

/// An event of a trace: a range of a thread, or an operation in flight. Traffic sent while its operation has
/// no open range is an event of zero length.
struct TraceEvent {
  RangeKind kind;
  std::string name;
  std::string detail;
  std::size_t thread = 0;  ///< number in `TraceLog::threads`
  std::int64_t begin = 0;  ///< in nanoseconds of the host's steady clock
  std::int64_t end = 0;
  Traffic sent;  ///< of the operation `name` alone, not of ranges inside
};

/// The events of a trace. Ranges of one thread nest: two of them lie apart, or one inside the other.
struct TraceLog {
  std::vector<std::string> threads;  ///< names; the first is the thread that started the trace
  std::vector<TraceEvent> events;    ///< by thread; its ranges in the order of their beginnings
  std::int64_t dropped = 0;          ///< events beyond the limit
  std::int64_t begin = 0, end = 0;   ///< of the trace, by the same clock
};

/// The trace of this process: takes down ranges between `start` and `stop`.
///
///     Trace::start();
///     for (…) train_a_step();
///     const TraceLog log = Trace::stop();
///
/// If no event was dropped, `sent` summed over all events of one name equals `Counters::by_operation` for
/// that time.
class Trace {
 public:
  static constexpr std::int64_t kMostEvents = 200000;

  /// Starts a trace of at most so many events; those that begin later are dropped and counted. An event takes
  /// about 120 bytes and the bytes of its name and detail. @throws Error if a trace is under way, or another
  /// sink is set.
  static void start(std::int64_t most_events = kMostEvents);
  /// Ends it. Ranges that are still open end now. @throws Error unless one is under way.
  static TraceLog stop();
  static bool under_way();
};

/// Names this thread in traces, such as "background communication". Without a name it is "thread 2" by its
/// number in the trace, and the one that starts the trace is "main".
void name_thread(const char* name);

}  // namespace riesz
