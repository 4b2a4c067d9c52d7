// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints written from another device, and read to it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "../zero/training.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// A small model with ZeRO 3 and its optimizer's state.
struct Trained {
  explicit Trained(std::uint64_t seed, at::Device device)
      : model(spaces::one_d(data_parallel()), course.config) {
    model.initialise(seed, at::kFloat, device);
    zero.emplace(model.parameters(), ZeroOptions{.stage = 3, .bucket = 1000, .keep = 100});
    optimizer = some_optimizers()[1].second(zero->store());
    course.device = device;
    accumulate(course, model, &*zero, 0);
    optimizer->step();
    optimizer->zero_gradients();
  }

  CheckpointContents contents() { return {optimizer->state(), published_shapes(model.parameters()), {}}; }

  Course course;
  models::MinGpt model;
  std::optional<Zero> zero;
  std::unique_ptr<Optimizer> optimizer;
};

TEST(OnADevice, CheckpointsHaveTheBytesOfTheValuesThere) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  Trained there(7, pretend_device());
  save_checkpoint(folder.path() / "first", world, there.contents());

  Trained other(8, pretend_device());
  load_checkpoint(folder.path() / "first", world, other.optimizer->state(),
                  published_shapes(other.model.parameters()));
  other.optimizer->loaded();
  save_checkpoint(folder.path() / "second", world, other.contents());
  Trained here(8, at::kCPU);
  load_checkpoint(folder.path() / "first", world, here.optimizer->state(),
                  published_shapes(here.model.parameters()));
  here.optimizer->loaded();
  save_checkpoint(folder.path() / "third", world, here.contents());

  EXPECT_EQ(files_of(folder.path() / "second"), files_of(folder.path() / "first"));
  EXPECT_EQ(files_of(folder.path() / "third"), files_of(folder.path() / "first"));
}

/// What the checkpoint lacks is as the device has it, not as the state showed it when it was taken.
TEST(OnADevice, AScaleThatIsLoadedInPartKeepsTheRest) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  LossScale other({.initial = 32});
  State some = other.state(world);
  std::erase_if(some, [](const StateView& view) { return view.key == "skipped"; });
  save_checkpoint(folder.path() / "some", world, {some, {}, {}});

  LossScale scale({.initial = 16, .hysteresis = 1});
  const State state = scale.state(world);
  Parameter w("w", Space(row(), {7, 3}), {Initial::normal(1)});
  w.initialise(1, at::kDouble, pretend_device());
  w.value().local().mutable_grad() = w.value().local().detach().div(0);
  scale.unscale(*whole({w}));
  const LoadReport report = load_checkpoint(folder.path() / "some", world, state, {}, {.strict = false});

  EXPECT_EQ(report.missing, std::vector<std::string>{"\"skipped.loss_scale\""});
  EXPECT_EQ(scale.value(), 32);
  EXPECT_EQ(scale.skipped(), 1);
}

}  // namespace
}  // namespace riesz::testing
