// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/summary.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/means_parameter.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/number_text.h"

namespace riesz {
namespace {

/// "1,024", or "0 - 1,024" where ranks differ.
std::string range(const std::vector<std::int64_t>& by_rank) {
  const auto [least, greatest] = std::minmax_element(by_rank.begin(), by_rank.end());
  return *least == *greatest ? grouped(*least) : grouped(*least) + " - " + grouped(*greatest);
}

std::string table_line(const std::string& name, const std::string& elements, const std::string& messages) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-20s %22s elements %14s messages\n", name.c_str(), elements.c_str(),
                messages.c_str());
  return text;
}

std::string line(const char* name, const std::string& text) {
  return name + std::string(14 - std::min<std::size_t>(14, std::string(name).size()), ' ') + text + "\n";
}

std::int64_t count(const std::vector<Parameter>& parameters) {
  std::int64_t elements = 0;
  for (const Parameter& parameter : parameters) elements += parameter.numel();
  return elements;
}

/// Those that are not trained are frozen by train.frozen, or statistics, such as the moments of batch norms.
std::string parameters_text(const std::vector<Parameter>& all, const std::string& frozen_by) {
  std::vector<std::string> patterns;
  std::istringstream words(frozen_by);
  for (std::string word; words >> word;) patterns.push_back(word);
  const auto is_meant = [&](const Parameter& each) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return detail::means_parameter(pattern, each.name());
    });
  };
  std::vector<Parameter> frozen, statistics;
  for (const Parameter& each : all)
    if (!each.trained()) (is_meant(each) ? frozen : statistics).push_back(each);
  std::string text = grouped(count(all));
  const char* before = ", of which ";
  for (const auto& [some, name] : {std::pair(&frozen, " frozen"), std::pair(&statistics, " statistics")})
    if (!some->empty()) text += concat(std::exchange(before, " and "), grouped(count(*some)), name);
  return text;
}

/// Of this process, in bytes.
std::int64_t most_resident() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{1024} * usage.ru_maxrss;
}

}  // namespace

std::vector<TrafficByOperation> collect_traffic(const Partition& partition, const TrafficByOperation& mine) {
  std::ostringstream out;
  for (const auto& [name, t] : mine)
    out << name << " " << t.elements << " " << t.bytes << " " << t.messages << "\n";
  std::vector<TrafficByOperation> ranks;
  for (const std::string& theirs : collect_texts(partition, out.str())) {
    std::istringstream in(theirs);
    TrafficByOperation& rank = ranks.emplace_back();
    std::string name;
    for (Traffic t; in >> name >> t.elements >> t.bytes >> t.messages;) rank[name] = t;
  }
  return ranks;
}

std::string traffic_table(const std::vector<TrafficByOperation>& ranks) {
  std::set<std::string> names;
  for (const TrafficByOperation& rank : ranks) {
    for (const auto& [name, traffic] : rank) names.insert(name);
  }
  std::vector<Traffic> totals(ranks.size());
  const auto row = [](const std::string& name, const std::vector<Traffic>& by_rank) {
    std::vector<std::int64_t> elements, messages;
    for (const Traffic& traffic : by_rank) {
      elements.push_back(traffic.elements);
      messages.push_back(traffic.messages);
    }
    return table_line(name, range(elements), range(messages));
  };
  std::string text;
  for (const std::string& name : names) {
    std::vector<Traffic> by_rank;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto found = ranks[rank].find(name);
      by_rank.push_back(found == ranks[rank].end() ? Traffic{} : found->second);
      totals[rank] += by_rank.back();
    }
    text += row(name, by_rank);
  }
  return text + row("in all", totals);
}

std::vector<RankMemory> collect_memory(const Partition& partition, const Memory& mine) {
  const auto& [parameters, gradients, masters, passing, gathered, waiting] = mine.model;
  const std::string text = concat(parameters, " ", gradients, " ", masters, " ", passing, " ", mine.optimizer,
                                  " ", mine.optimizer_elsewhere, " ", mine.activations_on_disk, " ",
                                  mine.untrained, " ", waiting, " ", most_resident());
  std::vector<RankMemory> ranks;
  for (const std::string& theirs : collect_texts(partition, text)) {
    RankMemory rank;
    Holdings& held = rank.state.model;
    std::istringstream(theirs) >> held.parameters >> held.gradients >> held.masters >> held.passing >>
        rank.state.optimizer >> rank.state.optimizer_elsewhere >> rank.state.activations_on_disk >>
        rank.state.untrained >> held.waiting >> rank.resident;
    ranks.push_back(rank);
  }
  return ranks;
}

std::string memory_table(const std::vector<RankMemory>& ranks, bool resident) {
  std::string text;
  const auto row = [&](const char* name, const auto& bytes_of) {
    std::vector<std::int64_t> bytes;
    for (const RankMemory& rank : ranks) bytes.push_back(bytes_of(rank));
    const auto [least, greatest] = std::minmax_element(bytes.begin(), bytes.end());
    char line[120];
    const double mib = 1 << 20;
    std::snprintf(line, sizeof line,
                  *least == *greatest ? "  %-20s %12.2f MiB\n" : "  %-20s %12.2f - %.2f MiB\n", name,
                  static_cast<double>(*least) / mib, static_cast<double>(*greatest) / mib);
    text += line;
  };
  row("parameters", [](const RankMemory& r) { return r.state.model.parameters; });
  const auto untrained = [](const RankMemory& r) { return r.state.untrained; };
  if (std::any_of(ranks.begin(), ranks.end(), untrained)) row("not trained", untrained);
  row("gradients", [](const RankMemory& r) { return r.state.model.gradients; });
  row("optimizer", [](const RankMemory& r) { return r.state.optimizer + r.state.model.masters; });
  row("passing through", [](const RankMemory& r) { return r.state.model.passing; });
  const auto elsewhere = [](const RankMemory& r) { return r.state.optimizer_elsewhere; };
  row("in all", [](const RankMemory& r) {
    const Holdings& held = r.state.model;
    return held.parameters + held.gradients + held.masters + held.passing + r.state.optimizer +
           r.state.untrained;
  });
  if (std::any_of(ranks.begin(), ranks.end(), elsewhere)) row("optimizer, elsewhere", elsewhere);
  const auto activations = [](const RankMemory& r) { return r.state.activations_on_disk; };
  if (std::any_of(ranks.begin(), ranks.end(), activations)) row("activations, on disk", activations);
  const auto waiting = [](const RankMemory& r) { return r.state.model.waiting; };
  if (std::any_of(ranks.begin(), ranks.end(), waiting)) row("waiting, at most", waiting);
  if (resident) row("process at its most", [](const RankMemory& r) { return r.resident; });
  return text;
}

std::string summary(const Config& config, const Learner& model, const Task& task, const Trained& trained,
                    const std::vector<TrafficByOperation>& traffic, const std::vector<RankMemory>& memory) {
  const Partition& mesh = model.workers;
  const DataUnit unit = task.unit();
  const Row& last = trained.rows.back();
  const auto steps = static_cast<std::int64_t>(trained.rows.size());
  const auto counted = steps * config.train.batch * unit.each;
  std::ostringstream losses;
  losses.precision(4);
  losses << last.loss << " in the last step, " << *last.held_out_loss << " held out ("
         << (unit.loss.empty() ? "nats per " + unit.counted : unit.loss) << ")";
  return line("model", model.module.describe()) +
         line("parameters", parameters_text(model.module.parameters(), config.train.frozen)) +
         line("layout",
              concat(to_string(mesh), mesh.size() == 1 ? ": 1 rank" : concat(": ", mesh.size(), " ranks"))) +
         line("data", task.describe()) +
         line("training",
              concat(grouped(steps), steps < config.train.steps ? " of " + grouped(config.train.steps) : "",
                     " steps of ", unit.text(config.train.batch), " in ", duration(trained.seconds),
                     ", with measurements ", duration(last.seconds))) +
         line("speed", grouped(std::llround(static_cast<double>(counted) / trained.seconds)) + " " +
                           unit.counted + "s/s") +
         line("loss", losses.str()) + "each rank held\n" + memory_table(memory, true) +
         (mesh.size() == 1 ? "" : "each rank sends in a step\n" + traffic_table(traffic));
}

}  // namespace riesz
