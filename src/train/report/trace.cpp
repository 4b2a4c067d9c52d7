// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/trace.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/file.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/pipeline/schedule/chrome_trace.h"
#include "riesz/pipeline/schedule/picture.h"
#include "riesz/train/report/clock_offsets.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string to_text(const std::vector<Timed>& row) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << clock_identity() << " " << now();
  for (const auto& [action, start, end] : row)
    out << " " << static_cast<int>(action.pass) << " " << action.chunk << " " << action.micro_batch << " "
        << start << " " << end;
  return out.str();
}

}  // namespace

Timeline collect_timeline(const Partition& job, const std::vector<Timed>& mine) {
  collect_texts(job, "");  // a barrier, after which all look at their clocks
  const std::vector<std::string> texts = collect_texts(job, to_text(mine));
  Timeline timeline;
  if (job.rank() != 0) return timeline;
  timeline.rows.resize(static_cast<std::size_t>(job.extent("pp")));
  std::map<std::string, double> clocks;  // of hosts, at the barrier
  double first = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < job.size(); ++rank) {
    std::istringstream in(texts[static_cast<std::size_t>(rank)]);
    std::string on;
    double clock = 0;
    in >> on >> clock;
    const double zero = clocks.emplace(on, clock).first->second;
    const int worker = job.coordinate(rank, job.index("pp"));
    auto& row = timeline.rows[static_cast<std::size_t>(worker)];
    if (!row.empty()) continue;  // another rank of that worker's
    int pass = 0;
    for (Timed timed;
         in >> pass >> timed.action.chunk >> timed.action.micro_batch >> timed.start >> timed.end;) {
      timed.action.pass = static_cast<Pass>(pass);
      timed.start -= zero, timed.end -= zero;
      first = std::min(first, timed.start);
      row.push_back(timed);
    }
  }
  for (auto& row : timeline.rows) {
    for (Timed& timed : row) timed.start -= first, timed.end -= first;
  }
  return timeline;
}

void write_timeline(const std::string& folder, const Timeline& timeline, const std::string& title) {
  make_folders(folder);
  write_file(fs::path(folder) / "timeline.svg", svg(timeline, title));
  write_file(fs::path(folder) / "timeline.json", chrome_trace(timeline));
}

}  // namespace riesz
