// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// ResNet is the published model: values, gradients and running statistics. It is the same wherever batch,
// channels, rows and columns lie, in stages, with ZeRO, in micro-batches and with blocks that run again.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "families.h"
#include "plain_resnet.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/file.h"
#include "riesz/nn/context.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/zero/stage_zeros.h"

namespace riesz::testing {
namespace {

constexpr int kResnetSteps = 1;      // and what is learnt is evaluated
constexpr int kParts = 2;            // micro-batches of a step
constexpr std::int64_t kImages = 5;  // of a step: the micro-batches are uneven
constexpr double kResnetRate = 0.05;

/// Rows and columns of 19, 10, 5 and 3: nothing divides them. With bottlenecks, the first block halves rows
/// and columns, but has as many channels as it is given: it has a shortcut all the same.
models::ResnetConfig small_resnet(bool bottleneck) {
  models::ResnetConfig config{.depths = {1, 2}, .widths = {8, 12}, .bottleneck = bottleneck};
  config.stem = bottleneck ? 8 : 6;
  config.image = 19, config.channels = 2, config.labels = 7, config.halves_first = bottleneck;
  return config;
}

at::Tensor resnet_images(const models::ResnetConfig& config, int step) {
  const std::int64_t n = config.image;
  return numbers_of({kImages, config.channels, n, n}, 1009, step).to(at::kDouble).div(500).sub(1);
}

at::Tensor resnet_labels(const models::ResnetConfig& config, int step) {
  return numbers_of({kImages}, config.labels, step);
}

Interval resnet_part(int i) { return Split::balanced(kImages, kParts)[i]; }

/// ResnetHow it is trained beside its layout.
struct ResnetHow {
  std::optional<int> zero = {};
  bool again = false;  ///< do blocks run again in backward?
};

std::vector<std::string> axes_of_images(const riesz::Layout& layout) {
  std::vector<std::string> axes;
  const Partition& mesh = layout.stages.empty() ? layout.mesh : layout.stages.front().mesh;
  for (const char* axis : {"dp", "height", "width"})
    if (mesh.find(axis) >= 0) axes.emplace_back(axis);
  return axes;
}

TrainingRun train_resnet(const models::ResnetConfig& config, const riesz::Layout& layout,
                         const ResnetHow& how) {
  models::Resnet model(layout, config);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  if (how.again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  std::optional<StageZeros> zeros;
  if (how.zero)
    zeros.emplace(model, ZeroOptions{.stage = *how.zero, .axes = axes_of_images(layout), .keep = 50});
  SGD optimizer(zeros ? zeros->store() : whole(model.parameters()),
                {.learning_rate = kResnetRate, .momentum = 0.9});
  const auto logits_of = [&](const at::Tensor& images) {
    return model(distribute(model.images().with_shape(images.sizes().vec()), images));
  };
  for (int step = 0; step < kResnetSteps; ++step) {
    for (int i = 0; i < kParts; ++i) {
      const Interval rows = resnet_part(i);
      const ContextScope scope({.training = true, .step = step, .first_row = rows.begin, .rows = kImages});
      if (zeros) zeros->begin(i, kParts);
      Chain chain;
      const Vector logits = logits_of(resnet_images(config, step).narrow(0, rows.begin, rows.size()));
      const at::Tensor labels = resnet_labels(config, step).narrow(0, rows.begin, rows.size());
      const Vector targets = distribute(model.targets().with_shape({rows.size()}), labels);
      const Vector loss = (1.0 / kImages) * cross_entropy(logits, targets).sum;
      backward(loss);
      const std::string at = concat(" of step ", step, ", part ", i);
      run.results["loss" + at] = TrainingRun::gathered(model, loss);
      run.results["logits" + at] = TrainingRun::gathered(model, logits);
    }
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  const at::NoGradGuard no_gradient;
  const ContextScope scope({.training = false});
  run.results["evaluated"] = TrainingRun::gathered(model, logits_of(resnet_images(config, kResnetSteps)));
  return run;
}

TrainingRun train_resnet_plainly(const models::ResnetConfig& config, const TrainingRun& one_worker) {
  const auto counts = [](const std::string& name) { return name.ends_with(".num_batches_tracked"); };
  const auto is_running = [&](const std::string& name) {
    return counts(name) || name.find(".running_") != std::string::npos;
  };
  plain::Weights weights, momentum;
  for (const auto& [name, w] : one_worker.initial)
    weights[name] = w.clone().requires_grad_(!is_running(name));
  TrainingRun run;
  run.initial = one_worker.initial;
  for (int step = 0; step < kResnetSteps; ++step) {
    for (int i = 0; i < kParts; ++i) {
      const Interval rows = resnet_part(i);
      const at::Tensor images = resnet_images(config, step).narrow(0, rows.begin, rows.size());
      const at::Tensor labels = resnet_labels(config, step).narrow(0, rows.begin, rows.size());
      const at::Tensor logits = plain::resnet(config, weights, images, true);
      const at::Tensor loss =
          plain::cross_entropy(logits, labels) * (static_cast<double>(rows.size()) / kImages);
      loss.backward();
      const std::string at = concat(" of step ", step, ", part ", i);
      run.results["loss" + at] = loss.detach();
      run.results["logits" + at] = logits.detach();
    }
    const at::NoGradGuard no_gradient;
    for (auto& [name, w] : weights) {
      const at::Tensor gradient = is_running(name) ? w.new_zeros(w.sizes()) : w.grad().clone();
      if (step == 0) run.results["gradient of " + name] = gradient;
      at::Tensor& m = momentum[name];
      m = m.defined() ? m * 0.9 + gradient : gradient;
      if (is_running(name)) continue;
      w.sub_(m * kResnetRate);
      w.mutable_grad().reset();
    }
  }
  for (const auto& [name, w] : weights)
    run.results[name + " after training"] = counts(name) ? w.add(kParts * kResnetSteps) : w.detach().clone();
  const at::NoGradGuard no_gradient;
  run.results["evaluated"] = plain::resnet(config, weights, resnet_images(config, kResnetSteps), false);
  return run;
}

const TrainingRun& resnet_alone(bool bottleneck) {
  static std::map<bool, TrainingRun> runs;
  if (runs.contains(bottleneck)) return runs.at(bottleneck);
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  return runs.emplace(bottleneck, train_resnet(small_resnet(bottleneck), spaces::one_d(one), {}))
      .first->second;
}

void expect_the_same_resnet(bool bottleneck, const riesz::Layout& layout, const ResnetHow& how) {
  EXPECT_TRUE(compare_runs(train_resnet(small_resnet(bottleneck), layout, how), resnet_alone(bottleneck)))
      << layout.name << " on " << to_string(layout.mesh);
}

TEST(Resnet, IsThePublishedModel) {
  for (const bool bottleneck : {false, true})
    EXPECT_TRUE(compare_runs(resnet_alone(bottleneck),
                             train_resnet_plainly(small_resnet(bottleneck), resnet_alone(bottleneck))));
}

/// He's: of variance 2/(outputs that an input reaches), within five deviations of that of so many draws.
TEST(Resnet, BeginsWithConvolutionsOfHesVariance) {
  for (const auto& [name, w] : resnet_alone(false).initial) {
    if (!name.ends_with(".convolution.weight")) continue;
    const auto reached = static_cast<double>(w.numel() / w.size(1)), n = static_cast<double>(w.numel());
    EXPECT_NEAR(w.square().mean().item<double>() * reached / 2, 1, 5 * std::sqrt(2 / n)) << name;
  }
}

/// Inner channels lie over tp in both convolutions of a block, so neither weight is whole on a worker.
TEST(Resnet, SharesOutTheChannelsOfBothConvolutions) {
  const int p = Runtime::size();
  const models::Resnet model(spaces::one_d(Partition::world().grid({{"tp", p}})), small_resnet(false));
  const std::string layer = "resnet.encoder.stages.0.layers.0.layer.";
  std::map<std::string, Space> spaces;
  for (const Parameter& each : model.parameters()) spaces.emplace(each.name(), each.space());
  EXPECT_EQ(spaces.at(layer + "0.convolution.weight").shards(0).size(), 1U);
  EXPECT_EQ(spaces.at(layer + "1.convolution.weight").shards(1).size(), 1U);
  EXPECT_EQ(spaces.at(layer + "0.normalization.weight").shards(0).size(), 1U);
}

/// Files of the model below the classifier leave "resnet." out.
TEST(Resnet, KnowsTheNamesOfTheModelBelowItsClassifier) {
  using models::resnet_weight_name;
  EXPECT_EQ(resnet_weight_name("embedder.embedder.convolution.weight"),
            "resnet.embedder.embedder.convolution.weight");
  EXPECT_EQ(resnet_weight_name("encoder.stages.0.layers.0"), "resnet.encoder.stages.0.layers.0");
  EXPECT_EQ(resnet_weight_name("resnet.encoder.stages.0"), "resnet.encoder.stages.0");
  EXPECT_EQ(resnet_weight_name("classifier.1.weight"), "classifier.1.weight");
}

TEST(Resnet, IsTheSameAtEveryLayout) {
  using namespace spaces;
  const int p = Runtime::size();
  const auto on = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  expect_the_same_resnet(false, one_d(on({{"dp", p}})), {.zero = 3, .again = true});
  expect_the_same_resnet(true, one_d(on({{"tp", p}})), {});
  expect_the_same_resnet(true, one_d(on({{"dp", 1}, {"height", p}})), {.zero = 1});
  if (p % 2 > 0) return;
  expect_the_same_resnet(false, one_d(on({{"height", 2}, {"width", p / 2}})), {.zero = 3, .again = true});
  if (p < 4) return;
  expect_the_same_resnet(true, one_d(on({{"dp", 2}, {"height", p / 2}, {"width", 1}})),
                         {.zero = 2, .again = true});
  expect_the_same_resnet(false, one_d(on({{"width", 2}, {"tp", p / 2}})), {.again = true});
  expect_the_same_resnet(true, two_d(on({{"row", p / 2}, {"column", 2}})), {});
  if (p < 8) return;
  expect_the_same_resnet(false, one_d(on({{"dp", 2}, {"height", 2}, {"width", 2}})), {.zero = 0});
  expect_the_same_resnet(false, three_d(on({{"a", 2}, {"b", 2}, {"c", 2}})), {});
}

/// The cut lies between blocks of one stage of the paper's: the model's stages are other stages.
TEST(Resnet, IsTheSameInStages) {
  const int p = Runtime::size();
  if (p % 2 > 0) return;
  const Partition grid = Partition::world().grid({{"pp", 2}, {"dp", 1}, {"height", p / 2}});
  std::vector<riesz::Layout> layouts{spaces::one_d(grid.at("pp", 0)), spaces::one_d(grid.at("pp", 1))};
  const riesz::Layout placed = spaces::placed(
      layouts, {{"resnet.encoder.stages.1.layers.1", 1}, {"resnet.pooler", 1}, {"classifier.1", 1}});
  expect_the_same_resnet(false, placed, {.zero = 1, .again = true});
  expect_the_same_resnet(true, placed, {.zero = 3});
}

/// All values by name, buffers too, as global tensors.
TrainingRun values_of_resnet(const models::Resnet& model) {
  TrainingRun run;
  run.add_weights(model);
  return run;
}

/// A step of training, so that running statistics are no initial ones; its checkpoint has the same bytes as
/// what comes back where the model lies otherwise.
TEST(Resnet, ComesBackToTheSameBitsAtAnotherLayout) {
  const SharedFolder folder;
  const int p = Runtime::size();
  const models::ResnetConfig config = small_resnet(false);
  const Partition rows = Partition::world().grid({{"dp", 1}, {"height", p}});
  models::Resnet one(spaces::one_d(rows), config);
  one.initialise(7, at::kFloat);
  {
    const at::NoGradGuard no_gradient;
    const ContextScope scope({.training = true});
    const at::Tensor images = resnet_images(config, 0).to(at::kFloat);
    one(distribute(one.images().with_shape(images.sizes().vec()), images));
  }
  const auto save = [&](const models::Resnet& model, const Partition& P, const char* name) {
    const std::vector<Parameter> all = model.parameters();
    save_checkpoint(folder.path() / name, P, {state_of_values(all), published_shapes(all), {}});
  };
  save(one, rows, "one");
  const Partition batches = Partition::world().grid({{"dp", p}});
  models::Resnet other(spaces::one_d(batches), config);
  other.initialise(8, at::kFloat);
  load_weights(folder.path() / "one", other.parameters());
  const TrainingRun was = values_of_resnet(one), is = values_of_resnet(other);
  expect_same_bits(is, was);
  const std::string norm = "resnet.encoder.stages.1.layers.0.shortcut.normalization.";
  EXPECT_EQ(is.results.at(norm + "num_batches_tracked after training").item<std::int64_t>(), 1);
  EXPECT_NE(is.results.at(norm + "running_var after training").sum().item<double>(), 12);
  save(other, batches, "other");
  EXPECT_EQ(bytes_of_file(folder.path() / "one" / "model.safetensors"),
            bytes_of_file(folder.path() / "other" / "model.safetensors"));
}

TEST(Resnet, SaysWhatDoesNotFit) {
  models::ResnetConfig config = small_resnet(true);
  config.widths = {8, 13};
  EXPECT_ERROR(config.roles(), "a stage of 13 channels", "a multiple of 4");
  config.widths = {8};
  EXPECT_ERROR(config.roles(), "ResNet: 2 depths, [1, 2], and 1 widths, [8]");
  config = small_resnet(false);
  config.stem = 0;
  EXPECT_ERROR(config.roles(), "ResNet", "stem 0");
  const Partition mesh = Partition::world().grid({{"height", Runtime::size()}});
  if (Runtime::size() > 1) {
    EXPECT_ERROR(models::Vit(spaces::one_d(mesh), models::VitConfig{}), "has an axis height", "does not use");
  }
}

}  // namespace
}  // namespace riesz::testing
