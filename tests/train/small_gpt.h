// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/train/loop/learner.h"

namespace riesz::testing {

/// A small GPT for sums of one digit: of one layer on a grid (dp, tp), or of several as its layout says.
struct SmallGpt {
  explicit SmallGpt(int dp, int tp, double dropout = 0.0)
      : SmallGpt(Partition::world().grid({{"dp", dp}, {"tp", tp}}), dropout) {}
  explicit SmallGpt(const Partition& workers, double dropout = 0.0)
      : SmallGpt(workers, spaces::one_d(workers), 1, dropout) {}
  SmallGpt(const Partition& workers, const Layout& layout, std::int64_t layers, double dropout,
           bool tied = false)
      : mesh(workers),
        config{.layers = layers,
               .heads = 2,
               .width = 8,
               .vocabulary = 10,
               .context = 3,
               .dropout = dropout,
               .tied = tied},
        gpt(layout, config) {
    gpt.initialise(1, at::kDouble);
  }

  /// On the chunks of a schedule, whose workers share all ranks: a layer for each but the last, which has the
  /// output layer alone.
  static SmallGpt placed(const Schedule& table, double dropout = 0.0, bool tied = false) {
    const int pp = table.workers();
    const Partition all = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}, {"tp", 1}});
    std::vector<Layout> layouts;
    std::map<std::string, int> stage_of;
    for (const int worker : table.worker_of) layouts.push_back(spaces::one_d(all.at("pp", worker)));
    const int last = table.chunks() - 1, layers = std::max(last, 1);
    for (int i = 0; i < layers; ++i) stage_of["transformer.h." + std::to_string(i)] = i;
    stage_of["transformer.ln_f"] = layers - 1, stage_of["lm_head"] = last;
    return {all, spaces::placed(layouts, stage_of), layers, dropout, tied};
  }

  Learner model() {
    return {gpt, gpt.tokens(), gpt.targets(), [this](const Vector& ids) { return gpt(ids); }, mesh};
  }

  static Config one_digit() {
    Config config;
    config.data.digits = 1;
    config.data.held_out = 0.2;
    config.model.context = 3;
    config.train.steps = 6;
    config.train.batch = 5;
    config.schedule.warm_up = 2;
    config.optimizer.learning_rate = 0.01;
    config.train.eval_every = 4;
    return config;
  }

  Partition mesh;
  models::MinGptConfig config;
  models::MinGpt gpt;
};

}  // namespace riesz::testing
