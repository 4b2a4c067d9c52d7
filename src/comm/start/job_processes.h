// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace riesz {

/// The steps of a worker's start, in order.
enum class StartStep : char {
  none,       ///< it has not come to its `Runtime`
  init,       ///< in MPI_Init
  board,      ///< makes the status board with the workers of its host
  transport,  ///< makes the transports with all workers
  started,    ///< it has started
};

/// The name of a step in a report.
const char* name_of(StartStep step);

/// Publishes how far this process is with its start, for processes of the same user on this host. To do so it
/// opens a memory file (memfd) that holds the step, which others find in its folder of /proc: MPI cannot send
/// anything yet. If the system gives no memory, nothing is published.
void say_start_step(StartStep step);

/// A process of this job on this host, as /proc shows it.
struct JobProcess {
  int rank;
  int number;  // the system's
  bool stopped;
  StartStep step;
};

/// The processes of this job that can be seen from here, by rank. They have the job's name from the launcher
/// (`launched_job`), or else the same launcher: the first process above a rank that is no script of that
/// rank. Local. It reads environments from /proc, also its own: MPI may change what getenv says.
std::vector<JobProcess> processes_of_job(const std::optional<std::string>& job);

}  // namespace riesz
