// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/pipedream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "every_division.h"
#include "random_tree.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

struct Line {
  std::vector<Cost> blocks;
  std::vector<double> outputs;
};

Line random_line(std::mt19937& random) {
  Line line;
  const std::size_t n = 2 + random() % 4;
  const auto draw = [&](unsigned most) { return static_cast<double>(random() % most); };
  for (std::size_t i = 0; i < n; ++i) {
    line.blocks.push_back({1 + draw(9), draw(9), draw(5)});
    line.outputs.push_back(draw(6));
  }
  return line;
}

/// As the paper has it, stage by stage; infinite where it does not fit.
double time_between(const Line& line, const Division& division, int workers,
                    const PipeDreamOptions& options) {
  double slowest = 0;
  std::size_t begin = 0;
  for (std::size_t s = 0; s < division.ends.size(); ++s) {
    double T = 0, W = 0, A = 0;
    const double a = begin == 0 ? 0 : line.outputs[begin - 1];
    for (; begin < division.ends[s]; ++begin) {
      T += line.blocks[begin].time;
      W += line.blocks[begin].parameters;
      A += line.blocks[begin].activations;
    }
    const double r = division.workers[s];
    if (std::ceil(workers / r) * (W + A) > options.memory) return std::numeric_limits<double>::infinity();
    slowest =
        std::max({slowest, T / r + 4 * (r - 1) * W / (r * r * options.bandwidth), 2 * a / options.bandwidth});
    workers -= division.workers[s];
  }
  return slowest;
}

Division division_of(const StagePlan& plan) {
  Division division;
  std::size_t end = 0;
  for (const auto& stage : plan.stages) {
    end += stage.modules.size();
    division.ends.push_back(end);
    division.workers.push_back(stage.workers);
  }
  return division;
}

TEST(PipeDream, IsTheBestOfAll) {
  std::mt19937 random(3);
  int refused = 0, replicated = 0;
  for (int i = 0; i < 150; ++i) {
    const Line line = random_line(random);
    const int workers = 2 + static_cast<int>(random() % 4);
    const PipeDreamOptions options{.replicas = workers,
                                   .bandwidth = 1 + static_cast<double>(random() % 9),
                                   .memory = random() % 2 == 0 ? std::numeric_limits<double>::infinity()
                                                               : static_cast<double>(10 + random() % 50)};
    double best = std::numeric_limits<double>::infinity();
    for_every_division(line.blocks.size(), workers, workers, [&](const Division& division) {
      best = std::min(best, time_between(line, division, workers, options));
    });
    const CostTree tree = chain_of(line.blocks, line.outputs);
    if (std::isinf(best)) {
      EXPECT_ERROR(pipedream(tree, workers, options), "no plan on", "the least with which one does is");
      ++refused;
      continue;
    }
    const StagePlan plan = pipedream(tree, workers, options);
    EXPECT_NEAR(time_between(line, division_of(plan), workers, options), best, 1e-12 * best);
    for (const auto& stage : plan.stages) replicated += stage.workers > 1;
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(replicated, 20);
}

TEST(PipeDream, KeepsEveryMicroBatchThatIsUnderWay) {
  const CostTree tree = chain_of({{1, 4, 2}, {1, 4, 2}, {1, 4, 2}});
  EXPECT_NO_THROW(pipedream(tree, 3, {.memory = 18}));  // three of the first stage's 6 bytes
  EXPECT_ERROR(pipedream(tree, 3, {.memory = 17}), "fits into 17 bytes", "one does is 18");
}

TEST(PipeDream, ReplicatesWhatIsSlowWhereReducingItsWeightsIsCheap) {
  const CostTree tree = chain_of({{8, 1, 0}, {2, 100, 0}});
  const auto workers = [](const StagePlan& plan) {
    std::vector<int> of;
    for (const auto& stage : plan.stages) of.push_back(stage.workers);
    return of;
  };
  EXPECT_EQ(workers(pipedream(tree, 5, {.replicas = 5})), (std::vector<int>{5}));
  EXPECT_EQ(workers(pipedream(tree, 5, {.replicas = 5, .bandwidth = 10})), (std::vector<int>{4, 1}));
  EXPECT_ERROR(pipedream(tree, 3), "3 stages of 2 blocks");
  EXPECT_ERROR(pipedream(tree, 5, {.replicas = 2}), "5 workers of 2 blocks, each on at most 2");
}

}  // namespace
}  // namespace riesz::testing
