// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/checkpoints.h"
#include "riesz/train/loop/loop.h"
#include "small_gpt.h"

namespace riesz::testing {

/// Sums, and which rows of them were taken, as (first, how many).
struct Recorded final : Task {
  explicit Recorded(const Config& config) : sums(config) {}
  std::int64_t vocabulary() const override { return sums.vocabulary(); }
  DataUnit unit() const override { return sums.unit(); }
  Batch batch(std::int64_t first, std::int64_t rows) const override {
    taken.emplace_back(first, rows);
    return sums.batch(first, rows);
  }
  std::int64_t held_out() const override { return sums.held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override { return sums.held_out(begin, end); }
  std::string describe() const override { return sums.describe(); }
  std::uint64_t digest() const override { return sums.digest(); }
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override {
    return sums.report(model, held_out);
  }

  AdderTask sums;
  mutable std::vector<std::pair<std::int64_t, std::int64_t>> taken;
};

/// A training with checkpoints, of `steps` steps at most; the rows that it makes, and where it begins.
struct Checkpointed {
  Checkpointed(int dp, int tp, const Config& config, std::int64_t steps, at::ScalarType type = at::kDouble,
               std::uint64_t seed = 1) {
    SmallGpt small(dp, tp, config.model.dropout);
    small.gpt.initialise(seed, type);
    const Learner model = small.model();
    const Recorded task(config);
    TrainingStep step(config, model);
    Checkpoints checkpoints(config, model, task, step);
    beginning = checkpoints.begin();
    std::int64_t made = beginning.step;
    const auto on_step = [&](const Row& row) {
      made = row.step;
      EXPECT_EQ(checkpoints.after(row.step, row.step == config.train.steps), "");
    };
    rows = run_training(config.train, step, model, task, on_step, [&] { return made + 1 >= steps; },
                        {beginning.step, beginning.rows})
               .rows;
    EXPECT_EQ(checkpoints.wait(), "");
    taken = task.taken;
  }

  Beginning beginning;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  std::vector<Row> rows;
};

inline Config with_checkpoints(const std::filesystem::path& folder) {
  Config config = SmallGpt::one_digit();
  config.model.dropout = 0.1;
  config.checkpoint.every = 3;
  config.checkpoint.folder = folder.string();
  return config;
}

}  // namespace riesz::testing
