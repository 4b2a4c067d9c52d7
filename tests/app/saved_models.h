// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models that are saved as folders, and gone on from at many layouts.
#pragma once

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "riesz/app/models/model.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {

/// Saves the model's first weights, drawn with the configuration's seed, as a folder; alike on all.
inline void save_as(const std::filesystem::path& folder, const Config& config) {
  Config saved = config;
  saved.checkpoint.every = 1;  // with what lies beside its weights
  const auto task = make_task(saved);
  const app::HeldModel model = app::make_model(saved, *task);
  const std::vector<Parameter> parameters = model.module().parameters();
  const Partition job = Partition::world().grid(job_axes(config.layout));
  save_checkpoint(folder, job,
                  {state_of_values(parameters), published_shapes(parameters), model.learner.files});
}

/// A model that a training keeps.
struct Kept {
  explicit Kept(const Config& config)
      : task(make_task(config)), model(app::make_model(config, *task)), step(config, model.learner) {}

  std::unique_ptr<Task> task;
  app::HeldModel model;
  TrainingStep step;
};

inline void expect_same_values(const Kept& a, const Kept& b) {
  const std::vector<Parameter> is = a.model.module().parameters(), was = b.model.module().parameters();
  ASSERT_EQ(is.size(), was.size());
  for (std::size_t i = 0; i < is.size(); ++i)
    EXPECT_TRUE(at::equal(is[i].get().local(), was[i].get().local())) << is[i].name();
}

/// A configuration for one worker by dp, at other layouts on all workers.
inline std::vector<Config> layouts_on_all(const Config& one) {
  const int p = Runtime::size();
  std::vector<Config> all{one, one, one};
  all[0].layout.zero = 3;
  all[1].layout.dp = 1, all[1].layout.tp = p;
  all[2].layout.dp = 1, all[2].layout.tp = p, all[2].layout.tensor = "sp", all[2].precision = "bf16";
  if (p == 2 || p == 3) {
    Config stages = one;
    stages.layout.dp = 1, stages.layout.pp = p;
    all.push_back(stages);
  }
  if (p == 4) {
    Config squares = one;
    squares.layout.dp = 1, squares.layout.tp = 4, squares.layout.tensor = "2d";
    all.push_back(squares);
  }
  return all;
}

}  // namespace riesz::testing
