// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said to be needed by a U-Net and by a Fourier neural operator, beside what the allocator says is
// kept.
#include <gtest/gtest.h>

#include <string>

#include "riesz/app/memory/check_memory.h"
#include "riesz/app/memory/memory_estimate.h"
#include "riesz/app/models/model.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

Config small_training(const std::string& kind) {
  Config config;
  config.model.kind = kind, config.model.image = 32;
  config.model.width = 8, config.model.layers = 2, config.model.hidden = 12, config.model.modes = {6, 6};
  config.data.task = kind == "unet" ? "cells" : "darcy";
  config.data.count = 40;
  config.train.batch = 16;
  return config;
}

TEST(FieldMemory, IsAlmostWhatIsHeldAndKept) {
  const int p = Runtime::size();
  for (const std::string kind : {"unet", "fno"}) {
    for (const bool space : {false, true}) {
      SCOPED_TRACE(concat(kind, space ? " by rows" : " by batches"));
      Config config = small_training(kind);
      (space ? config.layout.space[0] : config.layout.dp) = p;
      const auto task = make_task(config);
      const app::HeldModel model = app::make_model(config, *task);
      TrainingStep step(config, model.learner);
      step(0, task->batch(0, config.train.batch));
      finish_background();
      const Partition mesh = Partition::world().grid(job_axes(config.layout));
      const app::MemoryEstimate said = app::estimate_memory(config, mesh, app::bytes_of_data(config, p));
      const Memory held = step.memory();
      const MemoryMeter meter;
      const std::int64_t before = MemoryMeter::alive();
      const ContextScope training({.training = true, .rows = config.train.batch});
      Chain chain;
      const Vector loss = loss_of(model.learner, task->batch(0, config.train.batch)).sum;
      finish_background();
      const auto kept = static_cast<double>(MemoryMeter::alive() - before);
      if (Runtime::rank() > 0) continue;
      EXPECT_NEAR(said.parameters / static_cast<double>(held.model.parameters + held.untrained), 1, 0.1);
      EXPECT_NEAR(said.optimizer / static_cast<double>(held.optimizer), 1, 0.1);
      EXPECT_NEAR(kept / said.activations, 1, 0.25);
      EXPECT_EQ(said.data, kind == "fno" ? 4.0 * 4 * 40 * 32 * 32 / p : 0);
    }
  }
}

}  // namespace
}  // namespace riesz::testing
