// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/start/start_up.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/start/launcher.h"
#include "riesz/comm/table_text.h"

namespace riesz {
namespace {

/// What the launcher says in the environment, which MPI may change while it starts.
struct Launched {
  std::optional<std::string> job = launched_job();
  int size = launched_size().value_or(1);
  std::optional<int> on_host = launched_on_host();
};

std::string name_of_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unnamed host";
}

std::string line_of(const JobProcess& process, StartStep step) {
  return concat("\n  rank ", process.rank, ": process ", process.number, " is in ", name_of(process.step),
                process.stopped ? "; it is stopped" : "", process.step < step ? "  <- has not come" : "");
}

/// Who of all is on no line: on another host perhaps, unless the launcher says that all are on this one.
std::string line_of_others(const std::vector<JobProcess>& seen, const Launched& launched) {
  const int size = launched.size;
  std::vector<bool> here(static_cast<std::size_t>(size));
  for (const JobProcess& each : seen) {
    if (each.rank < size) here[static_cast<std::size_t>(each.rank)] = true;
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) {
    if (!here[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
  }
  if (ranks.empty()) return "";
  return concat("\n  rank ", list_text(ranks), ": no process is seen here; ",
                launched.on_host == size ? "it has ended, or never begun  <- has not come"
                                         : "on another host, or it has ended");
}

std::string report(StartStep step, const Launched& launched) {
  const std::vector<JobProcess> seen = processes_of_job(launched.job);
  std::string text = concat("; this is host ", name_of_host(),
                            "; all ranks are to come there: start them at once, let none do anything long "
                            "before its Runtime, or raise "
                            "RIESZ_DEADLINE; the processes of this job on this host:");
  for (const JobProcess& each : seen) text += line_of(each, step);
  return text + line_of_others(seen, launched);
}

}  // namespace

StartUp::~StartUp() { watch_.reset(); }

void StartUp::enter(StartStep step) {
  watch_.reset();
  say_start_step(step);
  if (step == StartStep::started) return;
  try {
    watch_.emplace(name_of(step), [step, launched = Launched()] { return report(step, launched); });
  } catch (const Error&) {
    // A deadline that is no number is said once MPI has started; a start without a watch is still a start.
  }
}

}  // namespace riesz
