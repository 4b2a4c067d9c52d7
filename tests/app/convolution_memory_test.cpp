// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said to be needed by a ResNet, beside what its training's state and the allocator say is held.
#include "riesz/app/memory/convolution_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "../io/images/idx_bytes.h"
#include "../io/shared_folder.h"
#include "riesz/app/models/model.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

Config resnet_in(const SharedFolder& folder) {
  if (Runtime::rank() == 0) {
    for (const std::string part : {"train", "t10k"}) {
      const auto write = [&](const std::string& name, const std::string& bytes) {
        std::ofstream(folder.path() / (part + name), std::ios::binary) << bytes;
      };
      write("-images-idx3-ubyte", idx_bytes({4, 8, 8}, std::string(4 * 8 * 8, '\x11')));
      write("-labels-idx1-ubyte", idx_bytes({4}, std::string("\0\1\2\1", 4)));
    }
  }
  wait_for_all(Partition::world());
  Config config;
  config.model.kind = "resnet", config.model.activation = "relu";
  config.model.image = 64, config.model.stem = 8;
  config.model.depths = {1, 2}, config.model.widths = {8, 16};
  config.data.task = "images", config.data.images = folder.path().string();
  config.labels = {"0", "1", "2"};
  config.train.batch = 16;
  return config;
}

TEST(ConvolutionMemory, IsAlmostWhatIsHeldAndAllocated) {
  const SharedFolder folder;
  const int p = Runtime::size();
  for (const int zero : {0, 1, 3}) {
    SCOPED_TRACE(zero);
    Config config = resnet_in(folder);
    config.layout.zero = zero;
    (zero == 1 ? config.layout.dp : config.layout.space[0]) = p;
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    TrainingStep step(config, model.learner);
    step(0, task->batch(0, config.train.batch));
    const Partition mesh = Partition::world().grid(job_axes(config.layout));
    const app::MemoryEstimate said = app::estimate_memory(config, mesh);
    const Memory held = step.memory();
    const MemoryMeter meter;
    const std::int64_t before = MemoryMeter::alive();
    const ContextScope training({.training = true, .rows = config.train.batch});
    Chain chain;
    const Vector loss = loss_of(model.learner, task->batch(0, config.train.batch)).sum;
    const auto kept = static_cast<double>(MemoryMeter::alive() - before);
    if (Runtime::rank() > 0) continue;
    const auto near = [](double estimate, std::int64_t is) {
      EXPECT_NEAR(estimate / static_cast<double>(is), 1, 0.1);
    };
    near(said.gradients, held.model.gradients);
    near(said.parameters, held.model.parameters + held.untrained);
    near(said.optimizer, held.optimizer);
    EXPECT_NEAR(kept / said.activations, 1, 0.25);
  }
}

}  // namespace
}  // namespace riesz::testing
