// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr int kSteps = 3;

/// No number of stages divides five blocks, no layout 97 words, 3 heads or 5 sequences.
const Problem kFive{
    {.layers = 5, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0.1}, 5, 7};

/// What minGPT is made of, in the order of its call.
std::vector<std::string> parts() {
  std::vector<std::string> all{"transformer.wte"};
  for (std::int64_t i = 0; i < kFive.config.layers; ++i) all.push_back(concat("transformer.h.", i));
  all.push_back("transformer.ln_f"), all.push_back("lm_head");
  return all;
}

/// The first parts are of the first of these stages, and so on, in runs that do not divide evenly; the tables
/// and their dropout stay together.
std::map<std::string, int> runs_of(const std::vector<int>& stages) {
  std::map<std::string, int> stage_of;
  const std::vector<std::string> all = parts();
  for (std::size_t i = 0; i < all.size(); ++i) stage_of[all[i]] = stages[i * stages.size() / all.size()];
  stage_of["transformer.wpe"] = stage_of["transformer.drop"] = stage_of["transformer.wte"];
  return stage_of;
}

Stages placed(const Problem& problem, const std::vector<Partition>& meshes, const std::vector<int>& order) {
  std::vector<riesz::Layout> layouts;
  for (const Partition& mesh : meshes) layouts.push_back(spaces::one_d(mesh));
  return {layouts, problem.config.roles(), runs_of(order)};
}

std::vector<Partition> slices(int pp, int dp, int tp) {
  const Partition grid = Partition::world().grid({{"pp", pp}, {"dp", dp}, {"tp", tp}});
  std::vector<Partition> all;
  for (int at = 0; at < pp; ++at) all.push_back(grid.at("pp", at));
  return all;
}

Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}); }

const TrainingRun& one_worker(bool tied) {
  static std::map<bool, TrainingRun> runs;
  if (runs.contains(tied)) return runs.at(tied);
  Problem problem = kFive;
  problem.config.tied = tied;
  return runs.emplace(tied, train(problem, alone(), kSteps)).first->second;
}

void expect_one_workers_run(const std::vector<Partition>& meshes, const std::vector<int>& order,
                            bool tied = false, std::optional<int> zero = {}) {
  Problem problem = kFive;
  problem.config.tied = tied;
  const TrainingRun run = train(problem, placed(problem, meshes, order), kSteps, zero);
  std::string where;
  for (const int stage : order) where += " " + to_string(meshes[static_cast<std::size_t>(stage)]);
  EXPECT_TRUE(compare_runs(run, one_worker(tied))) << "stages" << where;
}

std::vector<int> in_order(int stages) {
  std::vector<int> all;
  for (int stage = 0; stage < stages; ++stage) all.push_back(stage);
  return all;
}

TEST(PlacedMinGpt, IsTheOneWorkersModelOnEveryGrid) {
  const int n = Runtime::size();
  for (int pp = 2; pp <= n; ++pp) {
    for (int dp = 1; n % pp == 0 && dp <= n / pp; ++dp)
      if (n / pp % dp == 0) expect_one_workers_run(slices(pp, dp, n / pp / dp), in_order(pp), dp % 2 == 0);
  }
}

/// The output layer's weight is the token table, which lies on the first stage; its value goes there, and its
/// gradient back, at each use.
TEST(PlacedMinGpt, IsTheSameWithAWeightThatIsTiedAcrossStages) {
  const int n = Runtime::size();
  if (n > 1) expect_one_workers_run(slices(n, 1, 1), in_order(n), true);
  Problem tied = kFive;
  tied.config.tied = true;
  models::MinGpt model(placed(tied, slices(n, 1, 1), in_order(n)), tied.config);
  EXPECT_EQ(model.lent().size(), n > 1 ? 1U : 0U);
  EXPECT_EQ(
      model.tree().find("transformer.wte.weight (97, 15)", model.tree().find("lm_head")) != std::string::npos,
      n > 1);
}

TEST(PlacedMinGpt, IsTheSameWhereStagesLieOnOneSlice) {
  const int n = Runtime::size(), pp = n % 2 == 0 ? 2 : 1;
  const std::vector<Partition> two = slices(pp, 1, n / pp);
  for (const bool tied : {false, true})
    expect_one_workers_run({two.front(), two.back(), two.back(), two.front()}, in_order(4), tied);
}

/// tp in one stage, dp in the other, of other numbers of workers.
TEST(PlacedMinGpt, IsTheSameWhereStagesHaveOtherGrids) {
  const int n = Runtime::size();
  if (n < 3) return;
  std::vector<int> first, rest;
  for (int rank = 0; rank < n; ++rank) (rank < n / 2 ? first : rest).push_back(rank);
  const Partition a = Partition::world().subset(first), b = Partition::world().subset(rest);
  const Partition columns = a.grid({{"dp", 1}, {"tp", a.size()}});
  const Partition rows = b.grid({{"dp", b.size()}, {"tp", 1}});
  expect_one_workers_run({columns, rows}, {0, 1}, true);
  expect_one_workers_run({columns, rows}, {1, 0, 1});
}

/// Each stage's parameters are shared out among its own workers.
TEST(PlacedMinGpt, IsTheSameUnderZero) {
  const int n = Runtime::size(), pp = n % 2 == 0 ? 2 : 1;
  for (const int zero : {0, 3}) expect_one_workers_run(slices(pp, n / pp, 1), in_order(pp), zero == 3, zero);
}

/// What a model says of itself where it computes nothing is what it says where it does.
TEST(PlacedMinGpt, GivesTheSameSpacesWhereItLiesElsewhere) {
  const Partition two = Partition::simulated(2).grid({{"pp", 2}, {"dp", 1}, {"tp", 1}});
  const auto logits_on = [&](int slice) {
    models::MinGpt model(spaces::one_d(two.at("pp", slice)), kFive.config);
    model.initialise(kSeed, at::kFloat);
    const ContextScope scope({.training = true, .seed = kSeed, .step = 0});
    const Chain chain;
    return model(distribute(model.tokens().with_shape({5, 7}), ids_of(kFive, 0)));
  };
  const Vector here = logits_on(0), elsewhere = logits_on(1);
  EXPECT_EQ(elsewhere.space().on(two.at("pp", 0)), here.space());
  EXPECT_EQ(elsewhere.local().numel(), 0);
  EXPECT_TRUE(elsewhere.local().requires_grad() && here.local().requires_grad());
  EXPECT_EQ(elsewhere.local().scalar_type(), here.local().scalar_type());
}

}  // namespace
}  // namespace riesz::testing
