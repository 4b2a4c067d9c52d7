// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace riesz {

/// This process's rank in the job, from the launcher's environment (Open MPI, MPICH, PMIx under Slurm, srun
/// alone). Nothing if no launcher has started this process, or if RIESZ_ALONE=1 makes it a job of its own.
/// Local; for texts that are printed before MPI starts.
std::optional<int> launched_rank();

/// The number of processes that the launcher has started, from its environment: in the job, and on this host.
/// Local.
std::optional<int> launched_size();
std::optional<int> launched_on_host();
/// The job's name by the launcher (PMIx), from its environment. Local.
std::optional<std::string> launched_job();

/// The rank that a launcher has given the process whose variables `value_of` finds. Local.
std::optional<int> rank_in(const std::function<std::optional<std::string>(const char* name)>& value_of);

/// Says what is wrong if a launcher has started several processes, and MPI makes each of them a job of one
/// rank. Causes are srun without PMI, or another MPI's mpirun. Empty if nothing is wrong. `Runtime` asks
/// twice: before MPI starts, without `ranks`, for Open MPI would end such a process itself; and afterwards,
/// with the job's size. Local.
std::string launch_problem(std::optional<int> ranks);

/// A scope in which MPI does not see that srun has started this process. It has an effect only if
/// RIESZ_ALONE=1 asks for a job of its own. Outside such a scope Open MPI ends a process that srun has
/// started without PMI. Local; opened before other threads start.
class HiddenLauncherScope {
 public:
  HiddenLauncherScope();
  ~HiddenLauncherScope();
  HiddenLauncherScope(const HiddenLauncherScope&) = delete;
  HiddenLauncherScope& operator=(const HiddenLauncherScope&) = delete;

 private:
  std::vector<std::pair<std::string, std::string>> hidden_;
};

/// The name of the MPI library that this process uses, such as "Open MPI v4.1.4". Local; may be called before
/// MPI starts.
std::string mpi_library();

}  // namespace riesz
