// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace riesz {

/// Steps of a worker's start, in their order.
enum class StartStep : char {
  none,       ///< it has not come to its `Runtime`
  init,       ///< in MPI_Init
  board,      ///< makes the status board with the workers of its host
  transport,  ///< makes the transports with all workers
  over,       ///< it has started
};

/// What that step is called in a report.
const char* name_of(StartStep step);

/// Says how far this process is with its start, to the processes of its user on this host: in a memory of
/// that name among its files in /proc, before MPI can carry anything. Where the system gives none, nothing is
/// said.
void say_start_step(StartStep step);

/// A process of this job on this host, as /proc shows it.
struct JobProcess {
  int rank;
  int number;  // the system's
  bool stopped;
  StartStep step;
};

/// The processes of this job that can be seen from here, one a rank, by rank: those that have the same job's
/// name from the launcher (PMIx), or else the same parent. Local; reads all of /proc.
std::vector<JobProcess> processes_of_job();

}  // namespace riesz
