// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of training of a model with experts, on stages: losses, norms and weights are those of one rank with
// the same micro-batches, of unequal rows, each of which has a balance of its own.
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/mixtral.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/scale.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/step.h"
#include "small_gpt.h"

namespace riesz {
namespace {

struct RoutedCase {
  std::string schedule = "one_f_one_b";
  std::string recompute = "none";
  std::string frozen;  ///< as train.frozen
  std::int64_t zero = 0;
};

Config routed_config_of(const RoutedCase& one, int pp) {
  Config config = testing::SmallGpt::one_digit();
  config.optimizer.clip = 0.5;
  config.layout.pp = pp;
  config.layout.zero = one.zero;
  config.layout.recompute = one.recompute;
  config.pipeline.schedule = one.schedule;
  config.train.micro_batches = 3;
  config.train.frozen = one.frozen;
  return config;
}

models::MixtralConfig routed_sizes() {
  models::MixtralConfig config;
  config.layers = 3, config.heads = 2, config.key_value_heads = 1, config.width = 8, config.hidden = 5;
  config.vocabulary = 10, config.context = 3, config.experts = 3, config.balance_weight = 0.5;
  config.balanced = true;
  return config;
}

testing::TrainingRun routed_steps(const Config& config, const Partition& workers, const Layout& layout) {
  models::Mixtral model(layout, routed_sizes());
  model.initialise(1, at::kDouble);
  testing::TrainingRun run;
  run.add_initial(model);
  const Learner learner{model, model.tokens(), model.targets(), [&](const Vector& ids) { return model(ids); },
                        workers};
  const AdderTask task(config);
  TrainingStep step(config, learner);
  const auto note = [&](const std::string& name, double value) {
    run.results[name] = at::scalar_tensor(value, at::kDouble);
  };
  for (std::int64_t i = 0; i < 3; ++i) {
    const TrainingStep::Result result = step(i, task.batch(5 * i, 5));
    note("loss of step " + std::to_string(i), result.loss);
    note("norm of step " + std::to_string(i), result.gradient_norm);
  }
  run.add_weights(model);
  return run;
}

testing::TrainingRun routed_on_stages(const RoutedCase& one, int pp) {
  const Partition all = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}, {"tp", 1}});
  std::vector<Layout> layouts;
  for (const int worker : make_schedule(one.schedule, {.stages = pp, .micro_batches = 3}).worker_of)
    layouts.push_back(spaces::one_d(all.at("pp", worker)));
  const auto last = static_cast<int>(layouts.size()) - 1;
  int next = last > 3 ? 1 : 0;  // the embedding alone where there are so many
  std::map<std::string, int> stage_of{{"lm_head", last}};
  for (const char* part : {"model.layers.0", "model.layers.1", "model.layers.2", "model.norm"})
    stage_of[part] = std::min(next++, last);
  return routed_steps(routed_config_of(one, pp), all, spaces::placed(layouts, stage_of));
}

testing::TrainingRun routed_on_one(const RoutedCase& one) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  return routed_steps(routed_config_of(one, 1), alone, spaces::one_d(alone));
}

TEST(RoutedStages, TrainAsOneRank) {
  const int n = Runtime::size();
  if (n == 1) return;
  for (const RoutedCase& one :
       {RoutedCase{.schedule = "gpipe", .zero = 1}, RoutedCase{.recompute = "blocks", .zero = 3},
        RoutedCase{.schedule = "zb_v"}, RoutedCase{.schedule = "zb_v", .recompute = "blocks", .zero = 1},
        RoutedCase{.frozen = "model.layers.0.block_sparse_moe.experts.[1-2].*.*", .zero = 2},
        RoutedCase{.frozen =
                       "model.embed_tokens model.layers.0.*norm model.layers.0.self_attn "
                       "model.layers.0.block_sparse_moe.gate model.layers.0.block_sparse_moe.experts.0.*.*",
        .zero = 0}}) {
    SCOPED_TRACE(one.schedule + ", " + one.recompute + ", frozen " + one.frozen);
    EXPECT_TRUE(compare_runs(routed_on_stages(one, n == 3 ? 3 : 2), routed_on_one(one)));
  }
}

}  // namespace
}  // namespace riesz
