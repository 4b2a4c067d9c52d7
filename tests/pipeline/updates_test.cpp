// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What an update between passes reads, and what it leaves, of one weight.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/layout/layout.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/sgd.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

class OneWeight : public Layer<OneWeight> {
 public:
  explicit OneWeight(const ModelSpaces& spaces) : Layer("", spaces) {}
  Vector forward(const Vector& x) { return weight_(x); }
  std::string describe() const override { return "one weight"; }

 private:
  Linear weight_{*this, "weight", "bc,cf->bf", {.initial = Initial::ones(), .bias = false}};
};

/// On one stage of all workers, of so many features.
ModelSpaces weight_spaces(std::int64_t n = 1) {
  const Partition mesh = Partition::world().grid({{"pp", 1}, {"dp", Runtime::size()}});
  const Roles letters{{'b', {Role::batch}}, {'c', {Role::width, n}}, {'f', {Role::whole, n}}};
  const std::vector<Layout> layouts{spaces::one_d(mesh.at("pp", 0))};
  return ModelSpaces(Stages(layouts, letters, {}));
}

Vector sum_of(OneWeight& model, const at::Tensor& x) {
  const Space X = model.spaces().stream("bc").with_shape(x.sizes().vec());
  return sum(model(distribute(X, x)), {}, {.all_reduce = true});
}

/// Of 1 and eight times 2⁻⁹, which are nothing where they are added to 1 in bf16.
TEST(Updates, TakeHalfGradientsThatZeroKeepsInFp32) {
  const int rows = Runtime::size();
  OneWeight model(weight_spaces());
  model.initialise(3, at::kBFloat16);
  const Pipeline pipeline(
      model, schedules::ampnet({.stages = 1, .micro_batches = 9, .update_interval = 9, .in_flight = 2}));
  const Zero zero(pipeline.parameters(0));
  std::vector<double> sums;
  pipeline.train(
      [&](std::int64_t i) {
        return sum_of(model, at::full({rows, 1}, i == 0 ? 1 : 0x1p-9, at::kBFloat16));
      },
      [&](int) {
        for (const Share& share : zero.store()->shares()) sums.push_back(share.gradient.item<double>());
        zero.store()->zero_gradients();
      });
  EXPECT_EQ(sums, std::vector<double>{rows * (1 + 0x1p-6)});
}

/// The gradients of all workers, and after the step the value that one of them has trained.
TEST(Updates, ReadWhatZeroKeeps) {
  const int rows = Runtime::size();
  for (const int stage : {0, 1, 2}) {
    SCOPED_TRACE(stage);
    OneWeight model(weight_spaces());
    model.initialise(3, at::kDouble);
    const Pipeline pipeline(model, schedules::pipedream({.stages = 1, .micro_batches = 2}));
    const Parameter weight = pipeline.parameters(0).front();
    const Zero zero({weight}, {.stage = stage});
    SGD optimizer(zero.store(), {.learning_rate = 0.5});
    std::vector<double> gradients, values;
    pipeline.train(
        [&](std::int64_t) {
          return sum_of(model, at::ones({rows, 1}, at::kDouble));
        },
        [&](int) {
          EXPECT_TRUE(at::GradMode::is_enabled());  // as `train` found it
          for (int read = 0; read < 2; ++read) gradients.push_back(weight.gradient().local().item<double>());
          optimizer.step();
          values.push_back(weight.get().local().item<double>());
          optimizer.zero_gradients();
        });
    EXPECT_EQ(gradients, std::vector<double>(4, rows));
    EXPECT_EQ(values, (std::vector<double>{1 - 0.5 * rows, 1.0 - rows}));
  }
}

/// Also with gradients that an update has left.
TEST(Updates, MayBePutOff) {
  const int rows = Runtime::size();
  for (const int stage : {-1, 0, 1, 2}) {
    SCOPED_TRACE(stage);
    OneWeight model(weight_spaces());
    model.initialise(3, at::kDouble);
    const Pipeline pipeline(model, schedules::pipedream({.stages = 1, .micro_batches = 4}));
    const Parameter weight = pipeline.parameters(0).front();
    std::optional<Zero> zero;
    if (stage >= 0) zero.emplace(std::vector{weight}, ZeroOptions{.stage = stage});
    SGD optimizer(zero ? zero->store() : whole({weight}), {.learning_rate = 0.5});
    std::vector<double> gradients;
    int updates = 0;
    pipeline.train(
        [&](std::int64_t) {
          return sum_of(model, at::ones({rows, 1}, at::kDouble));
        },
        [&](int) {
          if (++updates % 2 == 1) return;
          gradients.push_back(weight.gradient().local().item<double>());
          optimizer.step();
          optimizer.zero_gradients();
        });
    EXPECT_EQ(gradients, std::vector<double>(2, 2 * rows));
  }
}

/// A copy of a version lives until the last action that reads it, though a backward pass is still to come.
TEST(Updates, LetOldVersionsGo) {
  constexpr std::int64_t n = 64;
  const std::int64_t bytes = n * n * 8;
  const Schedule table{{0},
                       3,
                       {{{Pass::forward, 0, 0},
                         {Pass::backward, 0, 0, 0, true},
                         {Pass::forward, 0, 1},
                         {Pass::forward, 0, 2, 1},
                         {Pass::backward, 0, 1, 1},
                         {Pass::backward, 0, 2, 1, true}}}};
  OneWeight model(weight_spaces(n));
  model.initialise(3, at::kDouble);
  const Pipeline pipeline(model, table);
  SGD optimizer(pipeline.parameters(0), {.learning_rate = 0.5});
  const MemoryMeter meter;
  std::vector<std::int64_t> alive;
  pipeline.train(
      [&](std::int64_t) {
        alive.push_back(MemoryMeter::alive());
        return sum_of(model, at::ones({Runtime::size(), n}, at::kDouble));
      },
      [&](int) {
        optimizer.step();
        optimizer.zero_gradients();
      });
  ASSERT_EQ(alive.size(), 3u);
  EXPECT_LT(alive[2], bytes);
}

}  // namespace
}  // namespace riesz::testing
