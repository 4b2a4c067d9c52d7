// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said where a training does not fit, and that what is named does fit.
#include "riesz/app/memory/check_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "../io/temporary_folder.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"

namespace riesz::testing {
namespace {

using app::check_memory;
using app::estimate_memory;

constexpr double kGiB = 1 << 30;

Partition grid_of(const Config& config) { return Partition::world().grid(job_axes(config.layout)); }

/// A small GPT, of which each worker has some rows.
Config small_text() {
  Config config;
  config.layout.dp = Runtime::size();
  config.model.layers = 3, config.model.heads = 4, config.model.width = 64, config.model.context = 32;
  config.data.digits = 3;
  config.train.batch = 48;
  return config;
}

Config small_images() {
  Config config;
  config.model.kind = "resnet", config.model.activation = "relu";
  config.model.image = 64, config.model.stem = 8;
  config.model.depths = {1, 2}, config.model.widths = {8, 16};
  config.data.task = "images";
  config.labels = {"0", "1", "2"};
  return config;
}

TEST(CheckMemory, CountsImagesOnceForTheRanksThatHaveOneCopy) {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.png", "a/2.png", "b/1.jpg"}) folder.write(name, "by its name");
  Config config = small_text();
  config.data.task = "images";
  config.data.images = folder.path().string();
  config.model.kind = "vit";
  config.model.channels = 3;
  EXPECT_EQ(app::bytes_of_data(config, 1), 3.0 * 3 * 28 * 28);
  EXPECT_EQ(4 * app::bytes_of_data(config, 4), 3.0 * 3 * 28 * 28);
  const Partition mesh = grid_of(config);
  EXPECT_EQ(estimate_memory(config, mesh, 1e9).data - estimate_memory(config, mesh).data, 1e9);
}

TEST(CheckMemory, SaysWhatTakesHowMuchAndWhatWouldFit) {
  Config config = small_text();
  config.train.batch = 100000;
  const Partition mesh = grid_of(config);
  EXPECT_NO_THROW(check_memory(config, mesh, 0, 4, 1e15));
  EXPECT_ERROR(check_memory(config, mesh, 0, 4, kGiB),
               "this training does not fit this host, which has 1.00 GiB", "4 ranks on it take ",
               "at least; each rank takes\n  parameters ", "\n  activations ", "\n  in all ",
               "it would fit with train.micro_batches = ", ", or train.batch = ");
  EXPECT_ERROR(check_memory(config, mesh, 1e18, 1, kGiB), "1 rank takes", "take a smaller model.width");
}

/// Batch norms take the moments of a micro-batch: another number is another training. Of one worker, on any
/// number of ranks.
TEST(CheckMemory, SaysThatMicroBatchesOfBatchNormsHaveOtherLosses) {
  Config config = small_images();
  config.train.batch = 100000;
  const Partition mesh = Partition::simulated(1).grid(job_axes(config.layout));
  EXPECT_ERROR(check_memory(config, mesh, 0, 1, 10 * kGiB), "it would fit with train.micro_batches = ",
               " (with other losses: batch norms take the moments of a micro-batch), or train.batch = ");
}

TEST(CheckMemory, WhatItNamesDoesFitAndNothingNearerDoes) {
  Config config = small_text();
  config.model.layers = std::numeric_limits<std::int64_t>::max();
  const Partition mesh = grid_of(config);
  std::string said;
  try {
    check_memory(config, mesh, 0, 2, kGiB);
  } catch (const Error& error) {
    said = error.what();
  }
  const std::string key = "model.layers = ";
  ASSERT_NE(said.find(key), std::string::npos) << said;
  config.model.layers = std::stoll(said.substr(said.find(key) + key.size()));
  EXPECT_NO_THROW(check_memory(config, mesh, 0, 2, kGiB));
  ++config.model.layers;
  EXPECT_ERROR(check_memory(config, mesh, 0, 2, kGiB), concat(key, config.model.layers - 1));
}

}  // namespace
}  // namespace riesz::testing
