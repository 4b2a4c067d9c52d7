// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <functional>
#include <string>

namespace riesz {

/// The runtime: this process's membership of the job. Every process of the job makes exactly one, before
/// anything else of Riesz. It starts MPI with MPI_THREAD_MULTIPLE, for backward may communicate from another
/// thread. It gives LibTorch one thread, unless OMP_NUM_THREADS says otherwise.
///
/// The destructor waits for all calls that were started, and settles the checks that were put off
/// (`settle_late_checks`). Then it waits until all workers reach their ends, and ends MPI. Each wait has the
/// deadline. A failure on the way ends the job. While an exception is under way, the destructor neither waits
/// nor ends MPI.
///
/// The start of the job has the deadline too. Past it the job ends, and says in which step, and which ranks
/// have not come there. A child that a worker forks is no worker, and must not communicate. Its `exit`, its
/// return from main and its exception end it alone.
/// @throws Error if a launcher has started several processes and MPI joins none of them, or if MPI does not
/// provide MPI_THREAD_MULTIPLE.
class Runtime {
 public:
  Runtime(int& argc, char**& argv);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// True while MPI is started and not yet ended in this process.
  static bool active();
  /// This process's rank in the job, and the job's size.
  static int rank();
  static int size();

 private:
  friend class Simulation;
  static void set_rank(int rank, int size);
};

/// The exit status of a job whose failure has been reported. After any other status but 0, the launcher
/// (`mpirun` of the build's folder) prints a line of its own. So a `main` that has printed its error itself
/// returns `kReported`. docs/reference/training.md lists all statuses.
inline constexpr int kReported = 71;

/// Prints `what` once for the workers of this host that call it, and ends the whole job with the status
/// `kReported` within two seconds. Workers of several hosts that call it at nearly the same time may each
/// print theirs, one a host; rank 0's host goes first.
[[noreturn]] void end_job(const std::string& what);
/// The same with the text of an exception.
[[noreturn]] void end_job(const std::exception_ptr& thrown);

/// The body of `main`: starts the `Runtime`, runs `body` and returns its result. An exception on any worker
/// ends the whole job with the status `kReported` within two seconds, so no worker waits for one that is
/// gone. It is printed once a host, with the layer that it left. A worker that calls `exit` ends the job too.
///
///     int main(int argc, char** argv) { return riesz::run_main(argc, argv, body); }
int run_main(int argc, char** argv, const std::function<int(int argc, char** argv)>& body);

/// Ends the process with a status once its output is written, without destroying static objects: LibTorch
/// takes a tenth of a second to destroy its own table of operators. For the end of a `main` that has nothing
/// static to destroy:
///
///     int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, body)); }
[[noreturn]] void leave(int status);

}  // namespace riesz
