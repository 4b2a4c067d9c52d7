// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The Fourier neural operator is Li's in torch's own operations, and the same wherever batch, channels, rows
// and columns lie, with ZeRO and with blocks that run again.
#include "riesz/models/fourier_neural_operator.h"

#include <ATen/ops/einsum.h>
#include <ATen/ops/fft_irfftn.h>
#include <ATen/ops/fft_rfftn.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "families.h"
#include "riesz/nn/recompute/policy.h"

namespace riesz::testing {
namespace {

constexpr int kFields = 3;  // of a step
constexpr int kFieldSteps = 2;
constexpr double kFieldRate = 0.1;

models::FourierNeuralOperatorConfig small_operator() {
  return {.layers = 2, .width = 5, .modes = {2, 3}, .hidden = 7, .size = 9, .inputs = 2, .outputs = 1};
}

at::Tensor fields(std::int64_t channels, int step) {
  return numbers_of({kFields, channels, 9, 9}, 1009, step).to(at::kDouble).div(500).sub(1);
}

/// Trained by plain descent of the mean square error.
TrainingRun train_operator(const riesz::Layout& layout, std::optional<int> stage, bool again) {
  const models::FourierNeuralOperatorConfig config = small_operator();
  models::FourierNeuralOperator model(layout, config);
  model.initialise(7, at::kDouble);
  for (Parameter& each : model.parameters())  // so that activations are far from linear
    each.set(Vector(each.space(), each.get().local().mul(10)));
  TrainingRun run;
  run.add_initial(model);
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  std::optional<Zero> zero;
  std::vector<std::string> axes;
  for (const char* axis : {"dp", "height", "width"})
    if (layout.mesh.find(axis) >= 0) axes.emplace_back(axis);
  if (stage) zero.emplace(model.parameters(), ZeroOptions{.stage = *stage, .axes = axes, .keep = 50});
  SGD optimizer(zero ? zero->store() : whole(model.parameters()), {.learning_rate = kFieldRate});
  for (int step = 0; step < kFieldSteps; ++step) {
    Chain chain;
    const at::Tensor given = fields(2, step), wanted = fields(1, step + 5);
    const Vector y = model(distribute(model.inputs().with_shape(given.sizes().vec()), given));
    const Vector aims = distribute(model.targets().with_shape(wanted.sizes().vec()), wanted);
    const Vector loss = mse_loss(y, aims).mean();
    backward(loss);
    run.results[concat("loss of step ", step)] = TrainingRun::gathered(model, loss);
    run.results[concat("fields of step ", step)] = TrainingRun::gathered(model, y);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

at::Tensor pointwise_conv(const plain::Weights& w, const std::string& name, const at::Tensor& x) {
  return at::einsum("bchw,oc->bohw", {x, w.at(name + ".weight")}) + w.at(name + ".bias").view({-1, 1, 1});
}

/// Li's layer, with the two blocks of its weight one after another.
at::Tensor spectral_conv(const at::Tensor& w, const at::Tensor& x) {
  at::Tensor z = at::fft_rfftn(x, at::IntArrayRef{9, 9}, at::IntArrayRef{2, 3});
  const at::Tensor rows = at::tensor({0, 1, 7, 8}, at::kLong), columns = at::tensor({0, 1, 2}, at::kLong);
  z = at::einsum("bckl,ockl->bokl",
                 {z.index_select(2, rows).index_select(3, columns), at::view_as_complex(w)});
  const at::Tensor wide = at::zeros({z.size(0), z.size(1), 4, 5}, z.options()).index_add(3, columns, z);
  const at::Tensor all = at::zeros({z.size(0), z.size(1), 9, 5}, z.options()).index_add(2, rows, wide);
  return at::fft_irfftn(all, at::IntArrayRef{9, 9}, at::IntArrayRef{2, 3});
}

TrainingRun train_operator_plainly(const TrainingRun& one_worker) {
  plain::Weights weights;
  for (const auto& [name, w] : one_worker.initial) weights[name] = w.clone().requires_grad_();
  TrainingRun run;
  run.initial = one_worker.initial;
  for (int step = 0; step < kFieldSteps; ++step) {
    at::Tensor x = pointwise_conv(weights, "lifting", fields(2, step));
    for (const std::string block : {"block.0", "block.1"})
      x = at::gelu(spectral_conv(weights.at(block + ".convolution.weight"), x) +
                   pointwise_conv(weights, block + ".pointwise", x));
    const at::Tensor y =
        pointwise_conv(weights, "projection.down", at::gelu(pointwise_conv(weights, "projection.up", x)));
    const at::Tensor loss = at::mse_loss(y, fields(1, step + 5));
    loss.backward();
    run.results[concat("loss of step ", step)] = loss.detach();
    run.results[concat("fields of step ", step)] = y.detach();
    const at::NoGradGuard no_gradient;
    for (auto& [name, w] : weights) {
      if (step == 0) run.results["gradient of " + name] = w.grad().clone();
      w.sub_(w.grad() * kFieldRate);
      w.mutable_grad().reset();
    }
  }
  for (const auto& [name, w] : weights) run.results[name + " after training"] = w.detach().clone();
  return run;
}

const TrainingRun& operator_alone() {
  static const TrainingRun run = train_operator(
      spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}})), {}, false);
  return run;
}

TEST(FourierNeuralOperator, IsLis) {
  if (Runtime::size() > 1) return;
  EXPECT_TRUE(compare_runs(operator_alone(), train_operator_plainly(operator_alone())));
}

TEST(FourierNeuralOperator, IsTheSameAtEveryLayout) {
  using namespace spaces;
  const int p = Runtime::size();
  const auto expect_same = [](const riesz::Layout& layout, std::optional<int> stage = {},
                              bool again = false) {
    EXPECT_TRUE(compare_runs(train_operator(layout, stage, again), operator_alone()))
        << layout.name << " on " << to_string(layout.mesh);
  };
  const auto on = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  expect_same(one_d(on({{"dp", p}})), 3, true);
  expect_same(one_d(on({{"tp", p}})));
  expect_same(one_d(on({{"dp", 1}, {"height", p}})), 1);
  if (p % 2 > 0) return;
  expect_same(one_d(on({{"height", 2}, {"width", p / 2}})), 3, true);
  if (p < 4) return;
  expect_same(one_d(on({{"width", 2}, {"tp", p / 2}})), 2);
  expect_same(one_d(on({{"dp", 2}, {"height", p / 2}})), 2);
  if (p < 8) return;
  expect_same(one_d(on({{"dp", 2}, {"height", 2}, {"width", 2}})), 3);
  expect_same(three_d(on({{"a", 2}, {"b", 2}, {"c", 2}})));
}

TEST(FourierNeuralOperator, SaysWhatDoesNotFit) {
  models::FourierNeuralOperatorConfig config = small_operator();
  config.modes = {2};
  EXPECT_ERROR(config.roles(), "Fourier neural operator: modes [2]");
  config.modes = {2, 5};
  EXPECT_ERROR(config.roles(), "5 modes of 9 rows and columns");
}

}  // namespace
}  // namespace riesz::testing
