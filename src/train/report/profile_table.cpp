// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/profile_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/number_text.h"

namespace riesz {
namespace {

constexpr std::size_t kMostLines = 12;

struct OperatorTime {
  std::int64_t calls = 0, nanoseconds = 0, bytes = 0;
};

bool is_of_riesz(const std::string& thread) {
  return thread == "background communication" || thread == "NCCL";
}

/// Of the threads of the program, in nanoseconds: for what Riesz's own threads wait, nobody waits.
std::int64_t waited(const TraceLog& log) {
  std::vector<std::pair<std::int64_t, std::int64_t>> waits;
  for (const TraceEvent& event : log.events)
    if (event.kind == RangeKind::wait && !is_of_riesz(log.threads.at(event.thread)))
      waits.emplace_back(event.begin, event.end);
  std::sort(waits.begin(), waits.end());
  std::int64_t sum = 0, until = 0;
  for (const auto& [begin, end] : waits) {
    sum += std::max<std::int64_t>(end - std::max(begin, until), 0);
    until = std::max(until, end);
  }
  return sum;
}

/// A line each: calls, nanoseconds, bytes, name. The first has the times of the trace and of waits.
std::string numbers_of(const TraceLog& log) {
  std::map<std::string, OperatorTime> times;
  for (const TraceEvent& event : log.events) {
    if (event.kind != RangeKind::operation) continue;
    OperatorTime& time = times[event.name];
    time.calls += event.end > event.begin ? 1 : 0;
    time.nanoseconds += event.end - event.begin;
    time.bytes += event.sent.bytes;
  }
  std::string text = concat(log.end - log.begin, " ", waited(log), " ", log.dropped, "\n");
  for (const auto& [name, time] : times)
    text += concat(time.calls, " ", time.nanoseconds, " ", time.bytes, " ", name, "\n");
  return text;
}

std::string operator_line(const std::string& name, const OperatorTime& time, double share, double of) {
  char text[200];
  std::snprintf(text, sizeof text, "  %-20s %9.3f ms %5.1f %% %8.1f times %16s bytes\n", name.c_str(),
                static_cast<double>(time.nanoseconds) / of / 1e6, share, static_cast<double>(time.calls) / of,
                grouped(std::llround(static_cast<double>(time.bytes) / of)).c_str());
  return text;
}

}  // namespace

std::string profile_table(const Partition& partition, const TraceLog& mine, std::int64_t steps) {
  std::map<std::string, OperatorTime> all;
  double window = 0, least = 100, most = 0, waits = 0;
  std::int64_t dropped = 0;
  for (const std::string& theirs : collect_texts(partition, numbers_of(mine))) {
    std::istringstream in(theirs);
    double took = 0, waited = 0;
    std::int64_t lost = 0;
    in >> took >> waited >> lost;
    window += took, waits += waited, dropped += lost;
    least = std::min(least, 100 * waited / took), most = std::max(most, 100 * waited / took);
    OperatorTime time;
    for (std::string name;
         in >> time.calls >> time.nanoseconds >> time.bytes && std::getline(in >> std::ws, name);) {
      OperatorTime& sum = all[name];
      sum.calls += time.calls, sum.nanoseconds += time.nanoseconds, sum.bytes += time.bytes;
    }
  }
  std::vector<std::pair<std::string, OperatorTime>> sorted(all.begin(), all.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  const double of = static_cast<double>(steps) * partition.size();
  char head[160];
  std::snprintf(head, sizeof head,
                "a rank's step took %.3f ms; it waited for others for %.1f %% (%.1f - %.1f %%)\n",
                window / of / 1e6, 100 * waits / window, least, most);
  std::string text = head;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostLines); ++i)
    text += operator_line(sorted[i].first, sorted[i].second,
                          100 * static_cast<double>(sorted[i].second.nanoseconds) / window, of);
  if (sorted.size() > kMostLines) text += concat("  and ", sorted.size() - kMostLines, " more operators\n");
  if (dropped > 0)
    text += concat("  without ", grouped(dropped), " events beyond the limit of ",
                   grouped(Trace::kMostEvents), " a rank; profile fewer steps\n");
  return text;
}

}  // namespace riesz
