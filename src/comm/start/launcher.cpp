// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/start/launcher.h"

#include <mpi.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

std::optional<int> number(const char* text) {
  int value = 0;
  if (std::from_chars(text, text + std::strlen(text), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<int> number_in(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number(text);
}

template <std::size_t N>
std::optional<int> first_of(const std::array<const char*, N>& names) {
  for (const char* name : names) {
    if (const auto value = number_in(name)) return value;
  }
  return std::nullopt;
}

/// By these MPI can join a process with others.
constexpr std::array kRanks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
constexpr std::array kSizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

/// The rank by which MPI can join this process with others.
std::optional<int> rank_for_mpi() { return first_of(kRanks); }

/// Is this process to be a job of its own, whoever started it?
bool alone() {
  const char* const text = std::getenv("RIESZ_ALONE");
  const std::string_view value = text == nullptr ? "0" : text;
  RIESZ_CHECK(value == "0" || value == "1", "RIESZ_ALONE is \"", value, "\"; it must be 0 or 1");
  return value == "1";
}

/// How many processes this one's srun has started; 1 where none has. A terminal's program (--pty) is one
/// alone, and a batch script is in no step.
int started_by_srun() {
  if (std::getenv("SLURM_PTY_PORT") != nullptr || !number_in("SLURM_PROCID")) return 1;
  return number_in("SLURM_STEP_NUM_TASKS").value_or(1);
}

/// The kind of PMI that this MPI takes from srun.
const char* kind_of_pmi() { return mpi_library().starts_with("MPICH") ? "pmi2" : "pmix"; }

}  // namespace

std::optional<int> launched_rank() {
  if (alone()) return std::nullopt;
  if (const auto rank = rank_for_mpi()) return rank;
  return started_by_srun() > 1 ? number_in("SLURM_PROCID") : std::nullopt;
}

std::optional<int> launched_size() {
  if (const auto size = first_of(kSizes)) return size;
  return started_by_srun() > 1 ? std::optional(started_by_srun()) : std::nullopt;
}

std::optional<int> launched_on_host() {
  return first_of(std::array{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
}

std::optional<std::string> launched_job() {
  const char* const name = std::getenv("PMIX_NAMESPACE");
  return name == nullptr ? std::nullopt : std::optional<std::string>(name);
}

std::optional<int> rank_in(const std::function<std::optional<std::string>(const char*)>& value_of) {
  for (const char* name : kRanks) {
    if (const auto text = value_of(name)) return number(text->c_str());
  }
  return std::nullopt;
}

std::string launch_problem(std::optional<int> ranks) {
  if (alone())
    return ranks.value_or(1) == 1 ? ""
                                  : concat("RIESZ_ALONE is 1, and the launcher has made a job of ", *ranks,
                                           " ranks; unset RIESZ_ALONE, or start the processes without it");
  if (!rank_for_mpi() && started_by_srun() > 1)
    return concat("srun has started ", started_by_srun(),
                  " processes without PMI, so that MPI would make each a job of one rank; ",
                  "start them by srun --mpi=", kind_of_pmi(),
                  " (srun --mpi=list says which kinds there are), or by riesz-mpirun; if each is to be a job "
                  "of its own, set RIESZ_ALONE=1");
  const int launched = launched_size().value_or(1);
  if (ranks == 1 && launched > 1)
    return concat("the launcher has started ", launched, " processes, but ", mpi_library(),
                  " has made each a job of one rank; ",
                  "the launcher is another MPI's, or srun has another kind of PMI: start them by "
                  "riesz-mpirun, or by srun --mpi=",
                  kind_of_pmi());
  return "";
}

HiddenLauncherScope::HiddenLauncherScope() {
  if (!alone()) return;
  for (const char* name : {"SLURM_STEPID", "SLURM_STEP_ID"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    hidden_.emplace_back(name, value);
    ::unsetenv(name);
  }
}

HiddenLauncherScope::~HiddenLauncherScope() {
  for (const auto& [name, value] : hidden_) ::setenv(name.c_str(), value.c_str(), 1);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace riesz
