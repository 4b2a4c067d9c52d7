// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A schedule's recompute actions are where regions run again; a region lies inside one stage.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "block_net.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// As many stages as divide the job, but for some tp where that can be.
std::vector<int> workers() {
  std::vector<int> all(Runtime::size() % 2 == 0 ? 2 : static_cast<std::size_t>(Runtime::size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Two of three micro-batches run again, long before they go backward.
Schedule early(int stages) {
  Schedule table{looped(stages, 1), 3, {}};
  for (int s = 0; s < stages; ++s) {
    table.rows.push_back({});
    for (const auto& [pass, i] : std::vector<std::pair<Pass, int>>{{Pass::forward, 0},
                                                                   {Pass::forward, 1},
                                                                   {Pass::forward, 2},
                                                                   {Pass::recompute, 1},
                                                                   {Pass::recompute, 0},
                                                                   {Pass::backward, 2},
                                                                   {Pass::backward, 0},
                                                                   {Pass::backward, 1}})
      table.rows.back().push_back({.pass = pass, .chunk = s, .micro_batch = i});
  }
  return aligned(table);
}

/// As a row would be: what runs, and what backward comes to, by micro-batch.
std::string text_of(const std::vector<Action>& row) {
  std::string text;
  for (const Action& action : row) {
    if (action.pass == Pass::idle) continue;
    text += concat(action.pass == Pass::backward ? " B" : " F", action.micro_batch);
  }
  return text;
}

struct Outcome {
  std::vector<double> losses;
  std::map<std::string, at::Tensor> gradients;
  std::string seen;
};

Outcome run(const Schedule& table, bool regions) {
  BlockNet net(a_block_a_stage(table.worker_of), table.chunks());
  net.initialise(3, at::kDouble);
  Outcome outcome;
  net.called = [&](int) {
    const std::int64_t i = ContextScope::current()->step;
    outcome.seen += concat(" F", i);
    Chain::current()->on_backward([&outcome, i] { outcome.seen += concat(" B", i); });
  };
  for (std::size_t i = 0; regions && i < net.size(); ++i) net[i].set_recompute(RecomputeOptions{});
  outcome.losses = Pipeline(net, table).train([&](std::int64_t i) { return loss_of(net, i); });
  outcome.gradients = gradients_of(net);
  return outcome;
}

TEST(Regions, RunAgainWhereTheScheduleSaysSo) {
  const int stages = static_cast<int>(workers().size());
  const Schedule table = early(stages);
  const Outcome again = run(table, true), plain = run(table, false);
  const auto mine = static_cast<std::size_t>(Runtime::rank() * stages / Runtime::size());
  EXPECT_EQ(again.seen, text_of(table.rows[mine]));
  EXPECT_EQ(plain.seen, " F0 F1 F2 B2 B0 B1");
  EXPECT_EQ(again.losses, plain.losses);
  for (const auto& [name, gradient] : plain.gradients)
    EXPECT_TRUE(at::equal(again.gradients.at(name), gradient)) << name;
}

/// From block 0 to block 1, or around all.
Vector across(BlockNet& net, const Vector& x) {
  return recompute(
      {.name = "two blocks"}, [&net](const Vector& y) { return net[1](net[0](y)); }, x);
}

TEST(Regions, MayNotCrossStagesOnAPipeline) {
  const std::vector<int> all = workers();
  if (all.size() == 1) return;
  const int stages = static_cast<int>(all.size());
  const Schedule table = schedules::gpipe({.stages = stages, .micro_batches = 2, .recompute = true});
  const auto train = [&](BlockNet& net) {
    net.initialise(3, at::kDouble);
    return Pipeline(net, table).train([&](std::int64_t i) { return loss_of(net, i); });
  };
  BlockNet within(a_block_a_stage(all), stages, [](BlockNet& net, const Vector& x) {
    const Vector y = net[0](x);
    return recompute(
        {.name = "a block"}, [&net](const Vector& z) { return net[1](z); }, y);
  });
  EXPECT_ERROR(train(within), "recompute of a block crosses stages: it comes to chunk 1 of micro-batch 0");
  BlockNet whole(a_block_a_stage(all), stages, across);
  EXPECT_ERROR(train(whole), "recompute of two blocks crosses stages: it begins where");
}

/// Without one, all workers run it again.
TEST(Regions, MayCrossStagesInOneChain) {
  const std::vector<int> all = workers();
  if (all.size() == 1) return;
  const auto gradients = [&](const BlockNet::Way& way) {
    BlockNet net(a_block_a_stage(all), static_cast<int>(all.size()), way);
    net.initialise(3, at::kDouble);
    Chain chain;
    backward(loss_of(net, 1));
    return gradients_of(net);
  };
  const auto again = gradients(across);
  for (const auto& [name, gradient] :
       gradients([](BlockNet&net, const Vector&x) { return net[1](net[0](x)); }))
    EXPECT_TRUE(at::equal(again.at(name), gradient)) << name;
}

}  // namespace
}  // namespace riesz::testing
