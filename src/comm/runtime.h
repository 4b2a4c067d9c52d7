// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace riesz {

/// This process as a member of the job: starts MPI with MPI_THREAD_MULTIPLE (backward may communicate from
/// another thread), one torch thread per worker unless OMP_NUM_THREADS says otherwise, and ends MPI when it
/// goes. Before that it waits, until the deadline, for all calls that were started and for all workers to
/// come to their ends; where an exception is on its way, it neither waits nor ends MPI. The start of the job
/// has the deadline too: past it the job ends, and says in which step, and which ranks have not come there.
/// Every process of the job makes exactly one, before anything else of Riesz. A child that a worker forks is
/// no worker, and must not communicate: its `exit`, its return from main and its exception end it alone.
/// @throws Error if a launcher has started several processes and MPI joins none of them, or if MPI does not
/// provide MPI_THREAD_MULTIPLE.
class Runtime {
 public:
  Runtime(int& argc, char**& argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Is MPI started and not yet ended in this process?
  static bool active();
  /// This process's rank in the job, and the job's size.
  static int rank();
  static int size();

 private:
  friend class Simulation;
  static void set_place(int rank, int size);
};

/// The exit status of a job whose failure has been reported. After any other status but 0, the launcher
/// (`mpirun` of the build's folder) prints a line. A `main` that has printed its error itself returns it.
/// docs/reference/training.md lists all statuses.
inline constexpr int kReported = 71;

/// Prints `what` once for the workers of this host that call it, and ends the whole job with the status
/// `kReported` within two seconds. Workers of several hosts that call it at nearly the same time may each
/// print theirs, one a host; rank 0's host goes first.
[[noreturn]] void end_job(const std::string& what);
/// The same with the text of what was thrown.
[[noreturn]] void end_job(const std::exception_ptr& thrown);

/// The body of `main`: starts the `Runtime`, runs `body` and returns its result. An exception on any worker
/// ends the whole job with the status `kReported` within two seconds, so no worker waits for one that is
/// gone. It is printed once a host, with the layer that it left. A worker that calls `exit` ends the job too.
///
///     int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
int run_main(int argc, char** argv, const std::function<int(int argc, char** argv)>& body);

/// Ends the process with a status once its output is written, without destroying static objects: LibTorch
/// takes a tenth of a second for its operators. For the end of a `main` that has nothing static to destroy:
///
///     int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, body)); }
[[noreturn]] void leave(int status);

}  // namespace riesz
