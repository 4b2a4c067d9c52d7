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

/// The process that has started this rank: between them may be scripts, which have the rank's variables.
int launcher_of(int process, int rank) {
  int parent = process_state(process).parent;
  while (parent > 1 && rank_of(environment_of(parent)) == rank) parent = process_state(parent).parent;
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
    case StartStep::over:
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
  const int launcher = job ? 0 : launcher_of(getpid(), rank_of(environment_of(getpid())).value_or(-1));
  for (const std::string& entry : entries("/proc")) {
    const int number = std::atoi(entry.c_str());
    if (number <= 0) continue;
    const std::string folder = "/proc/" + entry;
    const std::string environment = environment_of(number);
    const auto rank = rank_of(environment);
    if (!rank || (job && variable(environment, "PMIX_NAMESPACE") != job)) continue;
    const ProcessState now = process_state(number);
    if (now.gone() || (!job && launcher_of(number, *rank) != launcher)) continue;
    const JobProcess process{*rank, number, now.stopped(), step_of(folder)};
    // A rank's program may have been started by a script, which has the same variables.
    const auto [known, fresh] = found.try_emplace(*rank, process);
    if (!fresh && process.step > known->second.step) known->second = process;
    if (!fresh && process.step == known->second.step && process.stopped) known->second = process;
  }
  std::vector<JobProcess> all;
  for (const auto& [rank, process] : found) all.push_back(process);
  return all;
}

}  // namespace riesz
