// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/min_gpt.h"
#include "riesz/train/learner.h"

namespace riesz::testing {

/// A GPT of one layer for sums of one digit, on all workers along one axis of the grid (dp, tp).
struct SmallGpt {
  explicit SmallGpt(int dp, int tp, double dropout = 0.0)
      : mesh(Partition::world().grid({{"dp", dp}, {"tp", tp}})),
        config{.layers = 1, .heads = 2, .width = 8, .vocabulary = 10, .context = 3, .dropout = dropout},
        gpt(spaces::one_d(mesh), config) {
    gpt.initialise(1, at::kDouble);
  }

  Learner model() {
    return {gpt, gpt.tokens(), gpt.targets(), [this](const Vector& ids) { return gpt(ids); }};
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
