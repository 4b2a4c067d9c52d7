// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said to be in memory, and on the disk, where blocks save on a disk, beside what the allocator and
// the disk's file say.
#include <gtest/gtest.h>

#include "../io/shared_folder.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/models/model.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

using app::estimate_memory;
using app::MemoryEstimate;

/// A few blocks are in memory, however many there are, and all but the last on the disk.
TEST(ActivationMemory, IsByPlace) {
  const SharedFolder folder;
  for (const char* recompute : {"none", "blocks"}) {
    SCOPED_TRACE(recompute);
    Config config;
    config.layout.tp = Runtime::size();
    config.model.layers = 9, config.model.heads = 4, config.model.width = 64, config.model.context = 32;
    config.data.digits = 3;
    config.train.batch = 48;
    config.layout.recompute = recompute;
    config.train.eval_size = 1;
    const Partition mesh = Partition::world().grid(job_axes(config.layout));
    const MemoryEstimate in_memory = estimate_memory(config, mesh);
    config.offload = {.activations = "disk", .path = folder.path().string(), .depth = 1};
    const MemoryEstimate said = estimate_memory(config, mesh);
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    TrainingStep step(config, model.learner);
    step(0, task->batch(0, config.train.batch));
    finish_background();
    const MemoryMeter meter;
    step(1, task->batch(config.train.batch, config.train.batch));
    const auto most = static_cast<double>(MemoryMeter::peak());
    finish_background();
    EXPECT_EQ(in_memory.activations_on_disk, 0);
    if (Runtime::rank() > 0) continue;
    EXPECT_NEAR(static_cast<double>(step.memory().activations_on_disk) / said.activations_on_disk, 1, 0.08);
    EXPECT_GT(most, said.activations + said.logits);
    EXPECT_LT(most, 1.15 * (said.activations + said.logits + said.gradients + said.momentary));
    EXPECT_NEAR(in_memory.activations - said.activations, said.activations_on_disk * 7 / 8, 1);
  }
}

}  // namespace
}  // namespace riesz::testing
