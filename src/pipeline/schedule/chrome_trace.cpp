// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/chrome_trace.h"

#include <array>
#include <cstdio>

namespace riesz {
namespace {

std::string microseconds(double seconds) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.3f", seconds * 1e6);
  return text.data();
}

}  // namespace

std::string chrome_trace(const Timeline& timeline) {
  std::string events;
  const auto add = [&](const std::string& event) {
    events += (events.empty() ? "\n{" : ",\n{") + event + "}";
  };
  for (std::size_t worker = 0; worker < timeline.rows.size(); ++worker) {
    const std::string number = std::to_string(worker);
    const std::string place = R"(, "pid": 0, "tid": )" + number;
    add(R"("ph": "M", "name": "thread_name")" + place + R"(, "args": {"name": "worker )" + number + R"("})");
    for (const Timed& timed : timeline.rows[worker]) {
      add(R"("ph": "X", "name": ")" + to_string(timed.action) + R"(", "cat": ")" +
          name_of(timed.action.pass) + R"(", "ts": )" + microseconds(timed.start) + R"(, "dur": )" +
          microseconds(timed.end - timed.start) + place);
    }
  }
  return "{\"traceEvents\": [" + events + "\n]}\n";
}

}  // namespace riesz
