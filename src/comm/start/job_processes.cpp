// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/start/job_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/process_identity.h"
#include "riesz/comm/start/launcher.h"

namespace riesz {
namespace {

constexpr const char* kName = "riesz-start";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) names.emplace_back(entry->d_name);
  closedir(open);
  return names;
}

/// The value of a variable in what /proc says of a process's environment.
std::optional<std::string> variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view line = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(line.size() + 1, environment.size()));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=')
      return std::string(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

std::optional<int> rank_of(const std::string& environment) {
  return rank_in([&](const char* name) { return variable(environment, name); });
}

std::string environment_of(int process) { return contents(concat("/proc/", process, "/environ")); }

/// A process that has a rank's variables: the rank's own, a script that has started it, or whatever it
/// starts.
struct OfRank {
  int rank;
  std::optional<std::string> job, size;
  ProcessState now;
};
using OfRanks = std::map<int, OfRank>;  // by the system's number

OfRanks all_of_ranks() {
  OfRanks all;
  for (const std::string& entry : entries("/proc")) {
    const int number = std::atoi(entry.c_str());
    if (number <= 0) continue;
    const std::string environment = environment_of(number);
    if (const auto rank = rank_of(environment))
      all.insert({number,
                  {*rank, variable(environment, "PMIX_NAMESPACE"), variable(environment, "PMI_SIZE"),
                   process_state(number)}});
  }
  return all;
}

/// The process that has started this rank. Between them may be scripts, which have the rank's variables. A
/// job that a rank has started has a launcher with these too; but it has another size, or other ranks.
int launcher_of(int process, const OfRanks& all) {
  const auto found = all.find(process);
  if (found == all.end()) return process_state(process).parent;
  const OfRank& of = found->second;
  const auto is_script = [&](int parent, const OfRank& above) {
    return above.rank == of.rank && above.size == of.size &&
           std::none_of(all.begin(), all.end(), [&](const auto& each) {
             return each.second.now.parent == parent && each.second.rank != of.rank;
           });
  };
  int parent = of.now.parent;
  for (auto above = all.find(parent); above != all.end() && is_script(parent, above->second);
       above = all.find(parent))
    parent = above->second.now.parent;
  return parent;
}

StartStep step_of(const std::string& folder) {
  for (const std::string& entry : entries(folder + "/fd")) {
    const std::string path = folder + "/fd/" + entry;
    std::array<char, 64> target{};
    const ssize_t length = readlink(path.c_str(), target.data(), target.size());
    if (length <= 0 || !std::string_view(target.data(), static_cast<std::size_t>(length))
                            .starts_with(std::string("/memfd:") + kName + " "))
      continue;
    const std::string said = contents(path);
    if (!said.empty()) return static_cast<StartStep>(said[0]);
  }
  return StartStep::none;
}

}  // namespace

const char* name_of(StartStep step) {
  switch (step) {
    case StartStep::none:
      return "its program, before Runtime";
    case StartStep::init:
      return "MPI_Init";
    case StartStep::board:
      return "the set-up of the status board";
    case StartStep::transport:
      return "the set-up of the transports";
    case StartStep::started:
      return "its program";
  }
  return "";
}

void say_start_step(StartStep step) {
  static const int memory = memfd_create(kName, MFD_CLOEXEC);
  if (memory >= 0 && pwrite(memory, &step, 1, 0) != 1) return;  // others see the step before
}

std::vector<JobProcess> processes_of_job(const std::optional<std::string>& job) {
  std::map<int, JobProcess> found;
  const OfRanks candidates = all_of_ranks();
  const int launcher = job ? 0 : launcher_of(getpid(), candidates);
  for (const auto& [number, of] : candidates) {
    if (job && of.job != job) continue;
    if (of.now.gone() || (!job && launcher_of(number, candidates) != launcher)) continue;
    const JobProcess process{of.rank, number, of.now.stopped(), step_of(concat("/proc/", number))};
    // A rank's program may have been started by a script, which has the same variables.
    const auto [known, fresh] = found.try_emplace(of.rank, process);
    if (!fresh && process.step > known->second.step) known->second = process;
    if (!fresh && process.step == known->second.step && process.stopped) known->second = process;
  }
  std::vector<JobProcess> all;
  for (const auto& [rank, process] : found) all.push_back(process);
  return all;
}

}  // namespace riesz
