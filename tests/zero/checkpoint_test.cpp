// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training's checkpoint: the same bytes at every layout and stage, and what any of them goes on from.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// A small model in training under a stage.
class Pupil {
 public:
  Pupil(const Partition& mesh, int stage, at::ScalarType type, std::uint64_t seed, bool adafactor = false,
        bool tied = false)
      : course_{.type = type}, model_(spaces::one_d(mesh), small(course_, tied)) {
    model_.initialise(seed, type);
    zero_.emplace(model_.parameters(), ZeroOptions{.stage = stage, .bucket = 1000, .keep = 50});
    if (adafactor)
      optimizer_ = std::make_unique<Adafactor>(zero_->store());
    else
      optimizer_ = std::make_unique<AdamW>(zero_->store(), AdamWOptions{.epsilon = 1e-6});
  }

  void steps(int from, int to) {
    for (int step = from; step < to; ++step) {
      accumulate(course_, model_, &*zero_, step);
      optimizer_->step();
      optimizer_->zero_gradients();
    }
  }
  State state() {
    State all = optimizer_->state();
    for (StateView& view : scale_.state(model_.parameters().front().space().partition()))
      all.push_back(std::move(view));
    return all;
  }
  void save(const std::filesystem::path& folder, const Partition& P) {
    save_checkpoint(folder, P, {state(), published_shapes(model_.parameters()), {}});
  }
  LoadReport load(const std::filesystem::path& folder, const Partition& P) {
    const LoadReport report = load_checkpoint(folder, P, state(), published_shapes(model_.parameters()));
    return report;
  }
  LoadReport load_in_part(const std::filesystem::path& folder, const Partition& P) {
    return load_checkpoint(folder, P, state(), published_shapes(model_.parameters()), {.strict = false});
  }
  const models::MinGpt& model() const { return model_; }
  Optimizer& optimizer() { return *optimizer_; }

 private:
  static const models::MinGptConfig& small(Course& course, bool tied) {
    course.config.layers = 1;
    course.config.tied = tied;
    return course.config;
  }

  Course course_;
  models::MinGpt model_;
  std::optional<Zero> zero_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScale scale_;
};

void expect_same_files(const std::filesystem::path& a, const std::filesystem::path& b,
                       const std::string& what) {
  if (Runtime::rank() != 0) return;
  const auto expected = files_of(a), found = files_of(b);
  EXPECT_EQ(expected.size(), 2u);
  EXPECT_EQ(found.size(), 2u);
  for (const auto& [name, bytes] : expected)
    EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name << " " << what;
}

TEST(TrainingCheckpoint, HasTheSameBytesAtEveryLayoutAndStage) {
  const SharedFolder folder;
  const Partition world = Partition::world(), alone = one_worker();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    if (Runtime::rank() == 0) Pupil(alone, 0, type, 7).save(folder.path() / "alone", alone);
    for (const Partition& mesh : dp_tp_meshes()) {
      for (const int stage : {0, 1, 2, 3}) {
        if (type == at::kBFloat16 && stage % 2 == 1) continue;
        Pupil(mesh, stage, type, 7).save(folder.path() / "shared", world);
        expect_same_files(folder.path() / "alone", folder.path() / "shared",
                          to_string(mesh) + ", stage " + std::to_string(stage));
      }
    }
  }
}

/// After some steps: what is loaded at any layout and stage, and saved there again, is what was loaded.
TEST(TrainingCheckpoint, GoesOnAtEveryLayoutAndStage) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const std::vector<Partition> meshes = dp_tp_meshes();
  for (const bool adafactor : {false, true}) {
    Pupil one(meshes.back(), 2, at::kBFloat16, 7, adafactor);
    one.steps(0, 2);
    one.save(folder.path() / "x", world);
    for (int stage = 0; stage < 4; ++stage) {
      const Partition& mesh = meshes[static_cast<std::size_t>(stage) % meshes.size()];
      Pupil other(mesh, stage, at::kBFloat16, 8, adafactor);
      EXPECT_TRUE(other.load(folder.path() / "x", world).empty());
      other.save(folder.path() / "y", world);
      expect_same_files(folder.path() / "x", folder.path() / "y",
                        "at " + to_string(mesh) + ", stage " + std::to_string(stage));
    }
  }
}

/// At the same layout the steps that follow have the same bits.
TEST(TrainingCheckpoint, GoesOnWithTheSameBits) {
  const SharedFolder folder;
  const Partition world = Partition::world(), mesh = dp_tp_meshes().back();
  Pupil one(mesh, 3, at::kFloat, 7, false, true), other(mesh, 3, at::kFloat, 8, false, true);
  one.steps(0, 2);
  one.save(folder.path() / "x", world);
  one.steps(2, 4);
  one.save(folder.path() / "y", world);
  EXPECT_EQ(StoredTensors(folder.path() / "x").find("lm_head.weight"), nullptr)
      << "a tied weight is there once";
  EXPECT_TRUE(other.load(folder.path() / "x", world).empty());
  other.steps(2, 4);
  other.save(folder.path() / "x", world);
  expect_same_files(folder.path() / "y", folder.path() / "x", "two steps later");

  Pupil untied(mesh, 1, at::kFloat, 8);
  EXPECT_ERROR(untied.load(folder.path() / "x", world), "missing:\n    \"exp_avg.lm_head.weight\"",
               "\"lm_head.weight\"");
}

/// Not strictly, where a weight is missing, an optimizer goes on only where it is told to, and can.
TEST(TrainingCheckpoint, IsNotGoneOnFromByItselfWhereSomethingIsMissing) {
  const SharedFolder folder;
  const Partition world = Partition::world(), mesh = dp_tp_meshes().back();
  Pupil tied(mesh, 1, at::kFloat, 7, false, true), untied(mesh, 1, at::kFloat, 8);
  tied.steps(0, 2);
  tied.save(folder.path() / "x", world);
  EXPECT_EQ(untied.load_in_part(folder.path() / "x", world).missing.size(), 4u);
  EXPECT_EQ(untied.optimizer().steps(), 0);
  EXPECT_ERROR(untied.optimizer().loaded(), "AdamW: what was loaded has gone 2 steps with",
               "and 0 with lm_head.weight");
  EXPECT_ERROR(untied.optimizer().step(),
               "AdamW: step 1: its state was loaded from a checkpoint in which some", "call loaded()");
  Pupil whole(mesh, 1, at::kFloat, 8, false, true);
  EXPECT_TRUE(whole.load_in_part(folder.path() / "x", world).empty());
  EXPECT_EQ(whole.optimizer().steps(), 2);
}

/// A checkpoint's weights, in a model that is not trained, and at another type.
TEST(TrainingCheckpoint, GivesItsWeightsAlone) {
  const SharedFolder folder;
  const Partition mesh = dp_tp_meshes().back();
  Pupil one(mesh, 1, at::kFloat, 7);
  one.save(folder.path() / "x", Partition::world());
  Course course;
  course.config.layers = 1;
  models::MinGpt model(spaces::one_d(dp_tp_meshes().front()), course.config);
  model.initialise(9, at::kBFloat16);
  EXPECT_TRUE(load_weights(folder.path() / "x", model.parameters()).empty());
  const std::vector<Parameter> theirs = one.model().parameters();
  for (std::size_t i = 0; i < theirs.size(); ++i)
    EXPECT_SAME_BITS(meant(model.parameters()[i].get()), meant(theirs[i].get()).to(at::kBFloat16));
}

}  // namespace
}  // namespace riesz::testing
