// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// U-Net against torch, where skips are put one behind the other by channels: also with images on several
// workers, and with skips over stages.
#include "riesz/models/unet.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "families.h"
#include "riesz/nn/context.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/zero/stage_zeros.h"

namespace riesz::testing {
namespace {

constexpr int kUnetSteps = 1;

const models::UnetConfig kUnet{.levels = 3, .width = 4, .image = 12, .channels = 2, .labels = 3};

at::Tensor pixels_of(int step) {
  return numbers_of({3, 2, 12, 12}, 1009, step).to(at::kDouble).div(500).sub(1);
}

struct PlainUnet {
  const plain::Weights& w;

  at::Tensor normed(const std::string& norm, const at::Tensor& y) const {
    return at::relu(at::batch_norm(y, w.at(norm + "weight"), w.at(norm + "bias"), w.at(norm + "running_mean"),
                                   w.at(norm + "running_var"), true, 0.1, 1e-5, false));
  }
  at::Tensor conv(const std::string& name, const at::Tensor& x) const {
    return normed(name + ".normalization.",
                  at::conv2d(x, w.at(name + ".convolution.weight"), {}, {1, 1}, {1, 1}));
  }
  at::Tensor down(const std::string& name, const at::Tensor& x) const {
    return conv(name + ".second", conv(name + ".first", x));
  }
  at::Tensor up(const std::string& name, const at::Tensor& x, const at::Tensor& skip) const {
    const at::Tensor large = at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
    const std::string norm = name + ".narrow.normalization.";
    const at::Tensor narrow = at::batch_norm(
        at::conv2d(large, w.at(name + ".narrow.convolution.weight")), w.at(norm + "weight"),
        w.at(norm + "bias"), w.at(norm + "running_mean"), w.at(norm + "running_var"), true, 0.1, 1e-5, false);
    const at::Tensor both = at::cat({w.at(name + ".from_below.weight"), w.at(name + ".skipped.weight")}, 1);
    const at::Tensor y = at::conv2d(at::cat({narrow, skip}, 1), both, {}, {1, 1}, {1, 1});
    return conv(name + ".second", normed(name + ".norm.", y));
  }
  at::Tensor operator()(const at::Tensor& images) const {
    const at::Tensor top = down("down.0", images), middle = down("down.1", at::max_pool2d(top, {2, 2}));
    const at::Tensor bottom = down("down.2", at::max_pool2d(middle, {2, 2}));
    const at::Tensor y = up("up.0", up("up.1", bottom, middle), top);
    return at::linear(y.permute({0, 2, 3, 1}), w.at("head.weight"), w.at("head.bias"));
  }
};

TrainingRun train_unet(const riesz::Layout& layout, std::optional<int> stage, bool again = false) {
  models::Unet model(layout, kUnet);
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  std::vector<std::string> axes;
  for (const char* axis : {"dp", "height", "width"})
    if (model.images().partition().find(axis) >= 0) axes.emplace_back(axis);
  std::optional<StageZeros> zeros;
  if (stage) zeros.emplace(model, ZeroOptions{.stage = *stage, .axes = axes, .keep = 50});
  SGD optimizer(zeros ? zeros->store() : whole(model.parameters()), {.learning_rate = kFamilyRate});
  for (int step = 0; step < kUnetSteps; ++step) {
    const ContextScope scope({.training = true, .step = step});
    Chain chain;
    const at::Tensor images = pixels_of(step), labels = numbers_of({3, 12, 12}, 3, step);
    const Vector logits = model(distribute(model.images().with_shape(images.sizes().vec()), images));
    const Vector targets = distribute(model.targets().with_shape(labels.sizes().vec()), labels);
    const Vector loss = cross_entropy(logits, targets).mean();
    backward(loss);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, loss);
    run.results["logits of step " + std::to_string(step)] = TrainingRun::gathered(model, logits);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

const TrainingRun& unet_alone() {
  static const TrainingRun run =
      train_unet(spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}})), {});
  return run;
}

TEST(Unet, IsTorchsWithSkipsByChannels) {
  plain::Weights weights;
  for (const auto& [name, w] : unet_alone().initial)
    weights[name] =
        w.clone().requires_grad_(w.is_floating_point() && name.find(".running_") == std::string::npos);
  const at::Tensor logits = PlainUnet{weights}(pixels_of(0)), labels = numbers_of({3, 12, 12}, 3, 0);
  plain::cross_entropy(logits.reshape({-1, 3}), labels.view({-1})).backward();
  TrainingRun is, was;
  is.initial = was.initial = unet_alone().initial;
  was.results["logits"] = logits.detach(), is.results["logits"] = unet_alone().results.at("logits of step 0");
  for (const auto& [name, w] : weights) {
    if (!w.requires_grad()) continue;
    was.results[name] = w.grad(), is.results[name] = unet_alone().results.at("gradient of " + name);
  }
  EXPECT_TRUE(compare_runs(is, was));
}

TEST(Unet, IsTheSameWhereverImagesLieAndWithSkipsOverStages) {
  using namespace spaces;
  const int p = Runtime::size();
  const auto same = [](const riesz::Layout& layout, std::optional<int> stage, bool again = false) {
    EXPECT_TRUE(compare_runs(train_unet(layout, stage, again), unet_alone())) << to_string(layout.mesh);
  };
  const auto on = [](const std::vector<Axis>& axes) { return one_d(Partition::world().grid(axes)); };
  same(on({{"dp", 1}, {"height", p}}), 3);
  same(on({{"tp", p}}), {}, true);
  if (p % 2 > 0) return;
  same(on({{"height", 2}, {"width", p / 2}}), 1);
  const Partition grid = Partition::world().grid({{"pp", 2}, {"dp", p / 2}, {"height", 1}});
  same(placed({one_d(grid.at("pp", 0)), one_d(grid.at("pp", 1))},
              {{"down.2", 1}, {"up.1", 1}, {"up.0", 1}, {"head", 1}}),
       1);
}

}  // namespace
}  // namespace riesz::testing
