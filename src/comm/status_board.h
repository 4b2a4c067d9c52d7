// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// A worker's status: its current call, note and waits, as it wrote them on the status board. `waits_for` and
/// `seconds` are of the thread that began to wait first.
struct WorkerStatus {
  static constexpr std::size_t kMostPeers = 8;

  int rank = 0;                ///< in the job
  std::int64_t calls = 0;      ///< rounds of messages so far, this one included
  std::string operation;       ///< the current one, or the last
  std::string note;            ///< such as "step 12"
  std::string place;           ///< in a schedule, such as "forward of micro-batch 2 in chunk 1"
  int waiting = 0;             ///< the number of threads that wait for others
  std::vector<int> waits_for;  ///< the first few that it waits for, once it has waited for 0.2 s
  double seconds = 0;          ///< since it began to wait, or since its last call or wait
  bool finished = false;       ///< it has come to the end of its program and sends nothing more
  int threads = 1;             ///< of its program: the first one, and each `Thread`
  std::string process;         ///< "stopped" or "gone" where the system says so
};

/// The status board of this host: a table in shared memory, in which every worker writes what it does. Any
/// worker of the host can read it, also the row of a stopped worker. If the workers cannot share memory, each
/// sees its own row only. To write into it costs some tens of nanoseconds. `Runtime` opens and closes the
/// board, collectively; before and after, writing does nothing.
class StatusBoard {
 public:
  static void open();
  static void close();

  /// `enter`: this worker begins a call. `wait_begins`: one of its threads begins to wait in a call; the
  /// result is the wait's number. `wait_ends`: that thread goes on.
  static void enter(std::string_view operation);
  static std::uint64_t wait_begins(const std::string& operation);
  static void waits_for(std::uint64_t wait, const std::vector<int>& ranks);
  static void wait_ends(std::uint64_t wait);
  /// A note of the program for people, such as the step that it is at.
  static void note(std::string_view text);
  /// Where in a schedule the worker is; empty: in none.
  static void place(std::string_view text);
  /// So many threads more, or fewer, take part in this worker's program.
  static void add_threads(int more);
  /// This worker has reached the end of its program and sends nothing more.
  static void finish();

  /// All workers of this host, by rank.
  static std::vector<WorkerStatus> read();

  /// World ranks of this host's workers that have not reached the end of their program.
  static std::vector<int> unfinished();

  /// The workers among `ranks` of this host whose process is gone. A process in another PID namespace or
  /// behind another /proc cannot be seen from here, and does not count as gone.
  static std::vector<int> gone(const std::vector<int>& ranks);
  /// The workers among `ranks` of this host that have reached the end of their program. Their processes may
  /// still exist.
  static std::vector<int> finished(const std::vector<int>& ranks);

  /// True for the first worker of this host that asks: it reports for all.
  static bool first_to_report();
  /// True if the job's rank 0 is on this host.
  static bool has_rank_0();
};

/// One line of a report.
std::string to_string(const WorkerStatus& status);

}  // namespace riesz
