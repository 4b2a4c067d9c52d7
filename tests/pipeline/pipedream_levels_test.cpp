// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// PipeDream's plans where workers are joined by levels, against all that there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "every_division.h"
#include "random_tree.h"
#include "riesz/pipeline/partitioner/pipedream.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A range of the blocks on r of what its level joins, each of which is the pipeline inside.
struct Nested {
  std::size_t begin, end;
  int r;
  std::vector<Nested> inside = {};
};
using Line = std::vector<Nested>;
using Levels = std::vector<WorkerLevel>;

std::vector<Line> every_line(std::size_t begin, std::size_t end, const Levels& levels, std::size_t level) {
  std::vector<Line> all;
  const int count = levels[level].count;
  for_every_division(end - begin, count, count, [&](const Division& division) {
    std::vector<Line> lines{{}};
    std::size_t from = begin;
    for (std::size_t s = 0; s < division.ends.size(); ++s) {
      const std::size_t to = begin + division.ends[s];
      const std::vector<Line> within =
          level == 0 ? std::vector<Line>{{}} : every_line(from, to, levels, level - 1);
      std::vector<Line> longer;
      for (const Line& line : lines) {
        for (const Line& inside : within) {
          longer.push_back(line);
          longer.back().push_back({from, to, division.workers[s], inside});
        }
      }
      lines = std::move(longer);
      from = to;
    }
    all.insert(all.end(), lines.begin(), lines.end());
  });
  return all;
}

/// Ranges that a worker has, and on how many it is.
void add_workers(const Line& line, int copies, Line& flat) {
  for (const Nested& stage : line) {
    if (stage.inside.empty())
      flat.push_back({stage.begin, stage.end, stage.r * copies});
    else
      add_workers(stage.inside, stage.r * copies, flat);
  }
}

struct Costs {
  std::vector<Block> blocks;
  Levels levels;
  double memory = kNever;

  Cost of(const Nested& stage) const {
    Cost sum;
    for (std::size_t b = stage.begin; b < stage.end; ++b) sum += blocks[b].cost;
    return sum;
  }

  double time(const Line& line, std::size_t level) const {
    double slowest = 0;
    for (const Nested& stage : line) {
      const double r = stage.r, B = levels[level].bandwidth;
      const double T = level == 0 ? of(stage).time : time(stage.inside, level - 1);
      slowest = std::max(slowest, (T + 4 * (r - 1) * of(stage).parameters / (r * B)) / r);
      if (stage.begin != line.front().begin)
        slowest = std::max(slowest, 2 * blocks[stage.begin - 1].output / B);
    }
    return slowest;
  }

  bool fits(const Line& line) const {
    Line flat;
    add_workers(line, 1, flat);
    int from_here = 0;
    for (auto stage = flat.rbegin(); stage != flat.rend(); ++stage) {
      from_here += stage->r;
      if (std::ceil(from_here / static_cast<double>(stage->r)) * of(*stage).memory() > memory) return false;
    }
    return true;
  }

  double best() const {
    double least = kNever;
    for (const Line& line : every_line(0, blocks.size(), levels, levels.size() - 1))
      if (fits(line)) least = std::min(least, time(line, levels.size() - 1));
    return least;
  }
};

/// Stages from number s on, as many as are one pipeline of the level.
Line line_of(const StagePlan& plan, std::size_t& s, std::size_t& block, const Levels& levels,
             std::size_t level) {
  Line line;
  for (int left = levels[level].count; left > 0;) {
    Nested stage{block, block, plan.stages[s].by_level[level]};
    if (level > 0)
      stage.inside = line_of(plan, s, block, levels, level - 1);
    else
      block += plan.stages[s++].modules.size();
    stage.end = block;
    left -= stage.r;
    line.push_back(stage);
  }
  return line;
}

int product(const std::vector<int>& counts) {
  int all = 1;
  for (const int count : counts) all *= count;
  return all;
}

TEST(PipeDreamLevels, AreTheBestOfAll) {
  std::mt19937 random(5);
  const auto draw = [&](unsigned most) { return static_cast<double>(random() % most); };
  int refused = 0, within = 0, across = 0;
  for (int i = 0; i < 240; ++i) {
    Costs costs;
    std::vector<Cost> blocks;
    std::vector<double> outputs;
    for (std::size_t n = 2 + random() % 3, b = 0; b < n; ++b) {
      blocks.push_back({1 + draw(9), draw(9), draw(5)});
      outputs.push_back(draw(6));
    }
    const CostTree tree = chain_of(blocks, outputs);
    costs.blocks = riesz::blocks(tree);
    costs.levels = {{1 + static_cast<int>(random() % 3), 4 + draw(20)}, {2, 1 + draw(5)}};
    if (i % 4 == 0) costs.levels.push_back({2, 1 + draw(2)});
    if (i % 3 == 0) costs.memory = 10 + draw(60);
    int workers = 1;
    for (const WorkerLevel& level : costs.levels) workers *= level.count;
    const PipeDreamOptions options{.replicas = workers, .memory = costs.memory, .levels = costs.levels};
    const double best = costs.best();
    if (std::isinf(best)) {
      EXPECT_ERROR(pipedream(tree, workers, options), "no plan on", "the least with which one does is");
      ++refused;
      continue;
    }
    const StagePlan plan = pipedream(tree, workers, options);
    for (const auto& stage : plan.stages) {
      EXPECT_EQ(stage.workers, product(stage.by_level));
      within += stage.by_level.front() > 1;
      across += stage.by_level.back() > 1;
    }
    std::size_t stage = 0, block = 0;
    const Line line = line_of(plan, stage, block, costs.levels, costs.levels.size() - 1);
    EXPECT_EQ(stage, plan.stages.size());
    EXPECT_TRUE(costs.fits(line));
    EXPECT_NEAR(costs.time(line, costs.levels.size() - 1), best, 1e-12 * best);
  }
  EXPECT_GT(refused, 3);
  EXPECT_GT(within, 20);
  EXPECT_GT(across, 20);
}

TEST(PipeDreamLevels, OfOneIsOneBandwidth) {
  const CostTree tree = chain_of({{8, 1, 0}, {2, 100, 0}, {3, 7, 0}}, {4, 2, 0});
  const PipeDreamOptions one{.replicas = 5, .bandwidth = 10}, level{.replicas = 5, .levels = {{5, 10}}};
  EXPECT_EQ(to_string(pipedream(tree, 5, one)), to_string(pipedream(tree, 5, level)));
}

/// Between hosts weights would be reduced slowly, within one fast.
TEST(PipeDreamLevels, ReplicateWhereBandwidthIs) {
  const CostTree tree = chain_of({{4, 100, 0}, {4, 100, 0}}, {1, 0});
  const StagePlan plan = pipedream(tree, 4, {.replicas = 4, .levels = {{2, 1000}, {2, 1}}});
  ASSERT_EQ(plan.stages.size(), 2U);
  for (const auto& stage : plan.stages) EXPECT_EQ(stage.by_level, (std::vector<int>{2, 1}));
  EXPECT_NE(to_string(plan).find("1 x 2"), std::string::npos) << to_string(plan);
}

TEST(PipeDreamLevels, SayWhatDoesNotFit) {
  const CostTree tree = chain_of({{4, 1, 0}, {4, 1, 0}});
  EXPECT_ERROR(pipedream(tree, 4, {.replicas = 4, .levels = {{2, 1}, {3, 1}}}),
               "the levels join 6 workers, and there are 4");
  EXPECT_ERROR(pipedream(tree, 4, {.replicas = 4, .levels = {{2, 1}, {2, 0}}}), "a level joins 2 by 0 bytes");
  EXPECT_ERROR(pipedream(tree, 9, {.replicas = 5, .levels = {{3, 1}, {3, 1}}}),
               "no plan of 2 blocks has 9 workers of these levels in stages of at most 5");
}

}  // namespace
}  // namespace riesz::testing
