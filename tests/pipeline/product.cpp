// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "product.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace riesz::testing {
namespace {

using Regions = RecomputePolicy::Regions;

const std::vector<int> kStages = {1, 2, 3, 4, 6, 8};
const std::vector<int> kWorkers = {1, 2, 3, 4};  // of dp, of tp
const std::vector<int> kRanks = {1, 2, 3, 4, 6, 8};

struct NamedTable {
  std::string schedule;
  int chunks = 1;
  bool recomputing = false;
};
const std::vector<NamedTable> kTables = {
    {"gpipe"}, {"gpipe", 1, true}, {"one_f_one_b"}, {"interleaved", 2}, {"varuna"},
    {"zb_h1"}, {"zb_h2"},          {"zb_v", 2},     {"v_half", 2},      {"v_min", 2}};

const std::vector<RecomputePolicy> kAgain = {{.regions = Regions::none},
                                             {.regions = Regions::blocks},
                                             {.regions = Regions::blocks, .every = 2},
                                             {.regions = Regions::attention}};
/// Stages; −1: none of it.
const std::vector<int> kZero = {-1, 0, 1, 2, 3};

template <typename T>
int count(const std::vector<T>& values) {
  return static_cast<int>(values.size());
}

template <typename T>
const T& value(const std::vector<T>& values, const Choice& choice, std::size_t factor) {
  return values[static_cast<std::size_t>(choice[factor])];
}

}  // namespace

int ranks_of(const Choice& choice) {
  return value(kStages, choice, 0) * value(kWorkers, choice, 1) * value(kWorkers, choice, 2);
}

std::vector<Choice> all_courses(int most) {
  const int workers = std::min(most, count(kWorkers));
  const auto fits = [](const Choice& choice) {
    return std::find(kRanks.begin(), kRanks.end(), ranks_of(choice)) != kRanks.end();
  };
  return all_choices({count(kStages), workers, workers, count(kTables), count(kAgain), count(kZero), 2, 2},
                     fits);
}

PlacedCourse course_of(const Choice& choice) {
  PlacedCourse course;
  course.pp = value(kStages, choice, 0);
  course.dp = value(kWorkers, choice, 1);
  course.tp = value(kWorkers, choice, 2);
  const NamedTable& table = value(kTables, choice, 3);
  course.schedule = table.schedule;
  course.chunks = table.chunks;
  course.recomputing = table.recomputing;
  course.recompute = value(kAgain, choice, 4);
  const int stage = value(kZero, choice, 5);
  if (stage >= 0) course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .segment = 500, .keep = 50};
  course.runs = 1 + choice[6];
  course.config.tied = choice[7] == 1;
  const bool in_groups = course.schedule == "interleaved";  // of as many as there are stages
  course.micro_batches = in_groups ? std::max(course.pp, 2) : 3 + choice[3] % 3;
  return course;
}

}  // namespace riesz::testing
