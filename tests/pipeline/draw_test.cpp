// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every schedule as it is drawn, beside the drawings in golden/.
#include "riesz/pipeline/schedule/draw.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "riesz/pipeline/schedule/make_schedule.h"

namespace riesz::testing {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string drawings(int p, int m) {
  std::string text = "# SPDX-FileCopyrightText: The Riesz authors\n# SPDX-License-Identifier: BSD-3-Clause\n";
  const auto add = [&](const std::string& name, const Schedule& table) {
    text += "\n== " + name + "\n" + draw(table);
  };
  const ScheduleOptions options{.stages = p, .micro_batches = m};
  for (const NamedSchedule& schedule : named_schedules()) add(schedule.name, schedule.make(options));
  ScheduleOptions again = options;
  again.recompute = true;
  add("gpipe, recompute", schedules::gpipe(again));
  add("zb_v, forward only", forward_only(schedules::zb_v(options)));
  return text;
}

TEST(Draw, IsGolden) {
  for (const auto& [p, m] : {std::pair{2, 4}, {4, 8}}) {
    const std::string name = std::to_string(p) + "_stages_" + std::to_string(m) + "_micro_batches.txt";
    const std::string found = drawings(p, m);
    if (found == read(RIESZ_GOLDEN "/" + name)) continue;
    std::ofstream(name) << found;
    ADD_FAILURE() << "drawings differ from " RIESZ_GOLDEN "/" << name << "; those found are in ./" << name
                  << ":\n"
                  << found;
  }
}

}  // namespace
}  // namespace riesz::testing
