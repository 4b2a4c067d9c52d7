// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// What a worker is doing, as it says on the board.
struct Status {
  static constexpr std::size_t kMostPeers = 8;

  int rank = 0;                ///< in the job
  std::int64_t calls = 0;      ///< rounds of messages so far, this one included
  std::string operation;       ///< the current one, or the last
  std::string note;            ///< such as "step 12"
  std::string place;           ///< in a schedule, such as "forward of micro-batch 2 in chunk 1"
  int waiting = 0;             ///< threads that wait for others: what is said is of the one that began first
  std::vector<int> waits_for;  ///< the first few of those others, once it has waited for a second
  double seconds = 0;          ///< since it began to wait, or since it left the operator
  bool finished = false;       ///< it has come to the end of its program and sends nothing more
  std::string process;         ///< "stopped" or "gone" where the system says so
};

/// The status board of this host, in memory that its workers share: each writes what it does, at some tens of
/// nanoseconds a call, and anyone can read it, also of one that is stopped. `Runtime` opens and closes it,
/// collectively; outside its life writing does nothing.
class Board {
 public:
  static void open();
  static void close();

  /// This worker enters a call; a thread of it waits in one, by a number; goes on.
  static void enter(std::string_view operation);
  static std::uint64_t wait_begins(const std::string& operation);
  static void waits_for(std::uint64_t wait, const std::vector<int>& ranks);
  static void wait_ends(std::uint64_t wait);
  /// Words of the program's own, for people, such as the step it is at.
  static void note(std::string_view text);
  /// Where in a schedule it is, whatever it calls there; empty: in none.
  static void place(std::string_view text);
  /// This worker has come to the end of its program and has sent all that it ever will.
  static void finish();

  /// All workers of this host, by rank.
  static std::vector<Status> read();

  /// The workers of this host, by world rank, that have not come to the end of their program.
  static std::vector<int> at_work();

  /// Those of `ranks` that were workers of this host and whose process is no more. A process that could never
  /// be seen from here, being in another PID namespace or behind another /proc, is not gone.
  static std::vector<int> gone(const std::vector<int>& ranks);
  /// Those of `ranks` that are workers of this host and have come to the end of their program; their
  /// processes may still be there.
  static std::vector<int> finished(const std::vector<int>& ranks);

  /// True for the first worker of this host that asks: it speaks for all.
  static bool first_to_speak();
  /// Is the job's rank 0 on this host?
  static bool has_rank_0();
};

/// A line for people.
std::string to_string(const Status& status);

}  // namespace riesz
