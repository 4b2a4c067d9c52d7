// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/verify.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "riesz/app/jobs/explain.h"
#include "riesz/app/memory/check_memory.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/verify/class_runs.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_memory.h"
#include "riesz/comm/untaken.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/number_text.h"
#include "riesz/verify/picture.h"
#include "riesz/verify/waiting.h"

namespace riesz::app {
namespace {

/// All messages of the job, each worker's as often as its class has workers.
void count(const ClassRuns& runs, Verified& verified) {
  for (const Recording& first : runs.recordings()) {
    const auto members = static_cast<double>(runs.classes().size_of(first.rank));
    verified.events = std::max(verified.events, static_cast<std::int64_t>(first.events.size()));
    for (const RecordedMessage& message : first.messages) {
      if (!message.sent) continue;
      verified.messages += members;
      verified.bytes += members * static_cast<double>(message.bytes());
    }
  }
}

void match_all(const ClassRuns& runs, Verified& verified) {
  const std::vector<Recording>& all = runs.recordings();
  const StandIns stand_ins = runs.classes().stand_ins(all);
  const Matching matching = match(all, stand_ins);
  if (!matching.faults.empty()) {
    const std::size_t more = matching.faults.size() - 1;
    verified.fault = to_string(matching.faults.front()) +
                     (more > 0 ? concat("\nand so differ ", more, " more ways between two") : "");
    verified.picture = svg(matching.faults.front(), all, stand_ins, matching);
    return;
  }
  verified.kept = enough_kept(all, stand_ins, matching);
  const Fault circle = fault_of_waits(all, stand_ins, matching, most_untaken());
  verified.fault = to_string(circle);
  if (!circle.empty()) verified.picture = svg(circle, all, stand_ins, matching);
}

/// The last worker of the largest class of each stage with its first, one by one.
void compare_the_last(ClassRuns& runs, Verified& verified) {
  std::map<int, const Recording*> largest;  // by stage
  for (const Recording& first : runs.recordings()) {
    const Recording*& most = largest[runs.classes().stage_of(first.rank)];
    if (!most || runs.classes().size_of(most->rank) < runs.classes().size_of(first.rank)) most = &first;
  }
  for (const auto& [stage, first] : largest) {
    const int last = runs.classes().last_of(first->rank);
    if (last == first->rank || !verified.right()) continue;
    verified.fault = runs.classes().difference(*first, runs.run(last));
    ++verified.compared;
  }
}

std::string memory_text(const Config& config, int workers, const HostWords& host) {
  const Partition job = Partition::simulated(workers).grid(job_axes(config.layout));
  const MemoryEstimate each = estimate_memory(config, job, bytes_of_data(config, 1));
  const std::string takes =
      concat("a rank takes", config.layout.pp > 1 ? " at most " : " ", bytes_text(each.all()));
  if (!host.memory) return takes;
  const int ranks = host.ranks.value_or(1);
  check_memory(config, job, bytes_of_data(config, ranks), ranks, *host.memory * (1 << 30));
  return concat(takes, ", and ", ranks, ranks == 1 ? " rank fits" : " ranks fit", " into ",
                bytes_text(*host.memory * (1 << 30)));
}

std::string whole(double number) { return grouped(static_cast<std::int64_t>(number)); }

}  // namespace

Config on_workers(Config config, std::int64_t workers) {
  Config::Layout& layout = config.layout;
  const std::int64_t sharers = space_size(layout, workers).value_or(workers + 1);
  const std::int64_t others = layout.pp * layout.ep * sharers * layout.sp * layout.tp;
  const auto dp = config.origins.find("layout.dp");
  const bool said = dp != config.origins.end() && dp->second == kCommandLine;
  if (!said && others > 0 && workers % others == 0) {
    layout.dp = workers / others;
    config.origins["layout.dp"] = kCommandLine;
  }
  RIESZ_CHECK(layout.dp * others == workers, "verify: ", workers, " workers, but ", product_of(layout), "; ",
              possible_layouts(workers, layout));
  return config;
}

Verified verify(const Config& given, const HostWords& host) {
  const auto begin = std::chrono::steady_clock::now();
  const Config config = with_model_from(given);
  Verified verified;
  verified.workers = workers_of(config);
  check_config(config, verified.workers);
  verified.memory = memory_text(config, verified.workers, host);
  ClassRuns runs(config);
  verified.model = runs.model();
  verified.mesh = runs.mesh();
  verified.classes = static_cast<int>(runs.recordings().size());
  count(runs, verified);
  match_all(runs, verified);
  if (verified.right()) compare_the_last(runs, verified);
  verified.run = runs.runs();
  verified.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return verified;
}

std::string to_string(const Verified& v) {
  std::string text = concat(v.model, "\non ", v.mesh, ", ", v.workers, " workers in ", v.classes,
                            v.classes == v.workers ? " classes, so each was run\n" : concat(" classes\n"));
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", v.seconds);
  text += concat("  ", v.run, " workers ran a step, ", v.compared,
                 " of them to be compared with the first of their class; ", seconds, " s\n");
  if (!v.right()) return text + v.fault + "\n";
  text += concat("  ", whole(v.messages), " messages of ", whole(v.bytes),
                 " bytes, each with its other end: the same operator, size and type\n");
  text += v.kept == 0
              ? std::string("  no circle of waiting, whatever a transport keeps of what is sent\n")
              : concat("  no circle of waiting, where a worker keeps ",
                       bytes_text(static_cast<double>(v.kept)), " of what it has sent to other stages\n");
  return text + "  " + v.memory + "\n";
}

std::string to_json(const Verified& v) {
  const nlohmann::ordered_json json = {
      {"layout", v.mesh},       {"workers", v.workers}, {"classes", v.classes},   {"run", v.run},
      {"compared", v.compared}, {"events", v.events},   {"messages", v.messages}, {"bytes", v.bytes},
      {"bytes_kept", v.kept},   {"memory", v.memory},   {"right", v.right()},     {"fault", v.fault},
      {"seconds", v.seconds}};
  return json.dump(2) + "\n";
}

VerifyReport verify_report(const Config& config, const VerifyWords& words, Form form) {
  const Verified verified = verify(words.workers ? on_workers(config, *words.workers) : config, words.host);
  return {form == Form::json ? to_json(verified) : to_string(verified), verified.right(), verified.picture};
}

}  // namespace riesz::app
