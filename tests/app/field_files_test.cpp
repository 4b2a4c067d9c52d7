// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trainings on files of fields and of masks, at layouts, beside those on the same data made by a seed.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "../io/temporary_folder.h"
#include "riesz/app/models/model.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/arrays/write_npy.h"
#include "riesz/io/cells.h"
#include "riesz/io/darcy_flow.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSize = 16, kRows = 12, kBatch = 8;

Config small_training(const std::string& kind) {
  Config config;
  config.model.kind = kind, config.model.image = kSize;
  config.model.width = 4, config.model.layers = 2, config.model.hidden = 6, config.model.modes = {3, 4};
  config.data.task = kind == "unet" ? "cells" : "darcy";
  config.data.count = kRows;
  config.train.batch = kBatch;
  return config;
}

/// The same, on files with what is made by the seed.
Config on_files(Config config, const TemporaryFolder& folder) {
  const auto seed = static_cast<std::uint64_t>(config.data.seed);
  config.data.inputs = (folder.path() / "inputs.npy").string();
  config.data.targets = (folder.path() / "targets.npy").string();
  config.data.normalise = "none";
  if (config.model.kind == "unet") {
    const CellImages cells(kSize, seed);
    std::vector<std::int64_t> all(kRows);
    std::iota(all.begin(), all.end(), 0);
    write_npy(config.data.inputs, cells.pixels(all, {0, kSize}, {0, kSize}));
    write_npy(config.data.targets, cells.label_maps(all, {0, kSize}, {0, kSize}));
    config.data.task = "masks", config.data.labels = CellImages::labels;
  } else {
    const at::Tensor a = DarcyFlow(kSize, seed).coefficients(0, kRows);
    write_npy(config.data.inputs, darcy_inputs(a).to(at::kFloat).narrow(1, 0, 1));
    write_npy(config.data.targets, darcy_targets(a).to(at::kFloat));
    config.data.task = "fields";
  }
  return config;
}

std::vector<double> losses_of(const Config& config) {
  check_config(config, Runtime::size());
  const auto task = make_task(config);
  const app::HeldModel model = app::make_model(config, *task);
  TrainingStep step(config, model.learner);
  std::vector<double> losses;
  for (std::int64_t i = 0; i < 2; ++i) losses.push_back(step(i, task->batch(i * kBatch, kBatch)).loss);
  losses.push_back(held_out_loss(model.learner, *task, 1, 1));
  return losses;
}

TEST(FieldFiles, LossesAreThoseOfMadeDataAtEveryLayout) {
  const int p = Runtime::size();
  if (p > 4) return;
  for (const std::string kind : {"unet", "fno"}) {
    const TemporaryFolder folder;
    std::vector<double> first;
    for (const std::int64_t dp : {1, p})
      for (const std::int64_t height : {1, 2, p}) {
        if (p % (dp * height) != 0) continue;
        SCOPED_TRACE(concat(kind, " dp = ", dp, ", space = ", height, " x ", p / dp / height));
        Config config = small_training(kind);
        config.layout.dp = dp, config.layout.space = {height, p / dp / height};
        const std::vector<double> losses = losses_of(on_files(config, folder));
        EXPECT_EQ(losses, losses_of(config));
        if (first.empty()) first = losses;
        for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], first[i], 1e-5);
      }
  }
}

}  // namespace
}  // namespace riesz::testing
