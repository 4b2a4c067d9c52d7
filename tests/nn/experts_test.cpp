// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Experts in two blocks, trained at every layout, against one process's training in torch's own operations.
#include "riesz/nn/experts/experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "plain_experts.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/store.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kRows = 4, kLength = 3, kWidth = 5;
constexpr std::uint64_t kSeed = 11;
constexpr AdamWOptions kAdam{.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1};

struct Case {
  std::int64_t experts = 3;
  std::int64_t inner = 7;
  bool gated = true;
  bool beside = false;  ///< a shared expert, while tokens are on their way
  GateOptions gate = {};
  std::optional<int> zero = {};  ///< the stage
  bool recompute = false;
  std::int64_t micro_batches = 1;
  int steps = 5;
};

/// The result of a block: what goes on, and its gate's loss.
struct Given {
  Vector y, loss;

  template <typename F>
  void each_vector(F&& f) {
    f(y), f(loss);
  }
};

Space with_last(Space X, std::int64_t last) {
  std::vector<std::int64_t> shape = X.shape();
  shape.back() = last;
  return X.with_shape(shape);
}

class Block : public Layer<Block> {
 public:
  Block(OwnerAndName place, const Space& X, const ExpertPlaces& places, const Case& of)
      : Layer(std::move(place)),
        of_(of),
        router_({*this, "router"}, "btc,ec->bte", X, Space(X.partition(), {of.experts, kWidth}),
                with_last(X, of.experts), {.initial = Initial::normal(1), .bias = false}),
        gate_({*this, "gate"}, X.partition(), of.experts, of.gate),
        experts_({*this, "experts"}, X, places,
                 {.experts = of.experts,
                  .inner = of.inner,
                  .gated = of.gated,
                  .initial = Initial::normal(0.5),
                  .initial_down = Initial::normal(0.5)}),
        shared_({*this, "shared"}, "bti,oi->bto", X, Space(X.partition(), {kWidth, kWidth}), X,
                {.bias = false}) {}

  Given forward(const Vector& x) {
    const Routing routing = gate_(to_space(router_(x), experts_.gates_space(of_.experts)));
    if (!of_.beside) return {x + experts_(x, routing), routing.loss};
    const std::function<Vector(const Vector&)> shared = [this](const Vector& v) { return shared_(v); };
    return {x + experts_(x, routing, shared), routing.loss};
  }
  std::string describe() const override { return "block"; }

 private:
  Case of_;
  Linear router_;
  TopKGate gate_;
  Experts experts_;
  Linear shared_;
};

class Model : public Layer<Model> {
 public:
  Model(const Space& X, const ExpertPlaces& places, const Case& of)
      : Layer(""), first_({*this, "h.0"}, X, places, of), second_({*this, "h.1"}, X, places, of) {
    set_domain(X);
    if (of.recompute)
      for (Block* block : {&first_, &second_}) block->set_recompute(RecomputeOptions{});
  }
  Given forward(const Vector& x) {
    const Given one = first_(x);
    const Given two = second_(one.y);
    return {two.y, one.loss + two.loss};
  }
  std::string describe() const override { return "two blocks"; }

 private:
  Block first_, second_;
};

at::Tensor inputs(int step) {
  return draws({kRows, kLength, kWidth}, 100 + static_cast<std::uint64_t>(step));
}
at::Tensor targets(int step) {
  return draws({kRows, kLength, kWidth}, 200 + static_cast<std::uint64_t>(step));
}

/// By the names of the axes: "dp" and "ep" cut the batch, "sp" the sequence, "st" too, but inside experts it
/// shards their inner width, as "tp" does. "ep" has the experts, or "xp", over which tokens are the same.
Space stream(const Partition& mesh) {
  Space X(mesh, {Space::any, kLength, kWidth});
  if (mesh.find("sp") >= 0) X = X.zigzag(1, "sp");
  if (mesh.find("st") >= 0) X = X.sharded(1, "st");
  for (const char* axis : {"dp", "ep"})
    if (mesh.find(axis) >= 0) X = X.sharded(0, axis);
  return X;
}

ExpertPlaces places_on(const Partition& mesh) { return {mesh.find("xp") >= 0 ? "xp" : "ep", {"tp", "st"}}; }

TrainingRun trained(const Partition& mesh, const Case& of) {
  Model model(stream(mesh), places_on(mesh), of);
  model.initialise(kSeed, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  std::vector<std::string> summed;
  for (const char* axis : {"dp", "ep", "sp"})
    if (mesh.find(axis) >= 0) summed.emplace_back(axis);
  std::optional<Zero> zero;
  if (of.zero) zero.emplace(model.parameters(), ZeroOptions{.stage = *of.zero, .axes = summed, .keep = 0});
  AdamW optimizer(zero ? zero->store() : whole(model.parameters()), kAdam);
  for (int step = 0; step < of.steps; ++step) {
    double loss = 0;
    const std::int64_t rows = kRows / of.micro_batches;
    for (std::int64_t i = 0; i < of.micro_batches; ++i) {
      if (zero) zero->begin(i, of.micro_batches);
      const ContextScope scope(
          {.training = true, .seed = kSeed, .step = step, .first_row = i * rows, .rows = kRows});
      const Space X = stream(mesh).with_shape({rows, kLength, kWidth});
      const Vector x(X,
                     distribute(X, inputs(step).narrow(0, i * rows, rows)).local().clone().requires_grad_());
      Chain chain;
      const Given given = model(x);
      const Loss squares = mse_loss(given.y, distribute(X, targets(step).narrow(0, i * rows, rows)));
      const Vector total = (1.0 / (kRows * kLength * kWidth)) * squares.sum +
                           (1.0 / static_cast<double>(of.micro_batches)) * given.loss;
      backward(total);
      loss += total.local().item<double>();
      if (step == 0)
        run.results["gradient of x " + std::to_string(i)] = TrainingRun::gathered(model, gradient(x));
    }
    run.results["loss of step " + std::to_string(step)] = at::zeros({}, at::kDouble).fill_(loss);
    if (step == 0) run.add_gradients(model);
    const double norm = clip_gradients(zero ? *zero->store() : *whole(model.parameters()), 1e6);
    run.results["norm of step " + std::to_string(step)] = at::zeros({}, at::kDouble).fill_(norm);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

/// One block in torch's operations, with `weights` by name.
at::Tensor plain_block(const Case& of, std::map<std::string, at::Tensor>& weights, const std::string& block,
                       const at::Tensor& x, at::Tensor& loss) {
  using Balance = GateOptions::Balance;
  const auto drop = of.gate.drop == GateOptions::Drop::none       ? "none"
                    : of.gate.drop == GateOptions::Drop::position ? "position"
                                                                  : "probability";
  plain::Gate gate{of.gate.k, of.gate.score == GateOptions::Score::sigmoid, of.gate.renormalise,
                   of.gate.scale, drop};
  gate.balance = of.gate.balance == Balance::none     ? "none"
                 : of.gate.balance == Balance::gshard ? "gshard"
                                                      : "all";
  gate.balance_weight = of.gate.balance_weight, gate.z_weight = of.gate.z_weight;
  const at::Tensor tokens = x.reshape({-1, kWidth});
  const double mean = static_cast<double>(tokens.size(0)) / static_cast<double>(of.experts);
  gate.capacity = std::max<std::int64_t>(
      of.gate.least_capacity,
      static_cast<std::int64_t>(std::ceil(mean * of.gate.capacity_factor * static_cast<double>(of.gate.k))));
  std::vector<plain::Expert> experts;
  for (std::int64_t e = 0; e < of.experts; ++e) {
    const std::string name = block + ".experts." + std::to_string(e) + ".";
    experts.push_back({of.gated ? weights.at(name + "w1.weight") : at::Tensor(),
                       weights.at(name + "w3.weight"), weights.at(name + "w2.weight")});
  }
  const plain::Gated routing = plain::gated(gate, at::linear(tokens, weights.at(block + ".router.weight")));
  loss = loss + routing.loss;
  at::Tensor y = tokens + plain::experts(experts, tokens, routing);
  if (of.beside) y = y + at::linear(tokens, weights.at(block + ".shared.weight"));
  return y.view(x.sizes());
}

/// The same training without Riesz, from the initial weights of a run.
TrainingRun plainly_trained(const Case& of, const TrainingRun& like) {
  TrainingRun run;
  run.initial = like.initial;
  std::map<std::string, at::Tensor> weights, first, second;
  for (const auto& [name, value] : like.initial) {
    weights[name] = value.clone().requires_grad_();
    first[name] = at::zeros_like(value), second[name] = at::zeros_like(value);
  }
  for (int step = 0; step < of.steps; ++step) {
    const std::int64_t rows = kRows / of.micro_batches;
    double sum = 0;
    for (std::int64_t i = 0; i < of.micro_batches; ++i) {
      const at::Tensor x = inputs(step).narrow(0, i * rows, rows).clone().requires_grad_();
      at::Tensor loss = at::zeros({}, at::kDouble);
      at::Tensor y = plain_block(of, weights, "h.0", x, loss);
      y = plain_block(of, weights, "h.1", y, loss);
      const at::Tensor squares = (y - targets(step).narrow(0, i * rows, rows)).square().sum();
      const at::Tensor total =
          squares / (kRows * kLength * kWidth) + loss / static_cast<double>(of.micro_batches);
      total.backward();
      sum += total.item<double>();
      if (step == 0) run.results["gradient of x " + std::to_string(i)] = x.grad();
    }
    run.results["loss of step " + std::to_string(step)] = at::zeros({}, at::kDouble).fill_(sum);
    const at::NoGradGuard no_gradient;
    at::Tensor norm = at::zeros({}, at::kDouble);
    for (auto& [name, w] : weights) {
      const at::Tensor g = w.grad().defined() ? w.grad().clone() : at::zeros_like(w);
      norm += g.square().sum();
      if (step == 0) run.results["gradient of " + name] = g;
      first[name].mul_(0.9).add_(g, 0.1);
      second[name].mul_(0.999).add_(g * g, 0.001);
      const at::Tensor m = first[name] / (1 - std::pow(0.9, step + 1)),
                       v = second[name] / (1 - std::pow(0.999, step + 1));
      w.mul_(1 - kAdam.learning_rate * 0.1).sub_(kAdam.learning_rate * m / (v.sqrt() + kAdam.epsilon));
      w.mutable_grad().reset();
    }
    run.results["norm of step " + std::to_string(step)] = norm.sqrt();
  }
  for (const auto& [name, w] : weights) run.results[name + " after training"] = w.detach();
  return run;
}

void expect_plain_training(const Case& of, const std::vector<Partition>& meshes) {
  const Partition here = Partition::world().subset({Runtime::rank()});
  const TrainingRun plain = plainly_trained(of, trained(here.grid({{"dp", 1}, {"ep", 1}}), of));
  for (const Partition& mesh : meshes) {
    SCOPED_TRACE(to_string(mesh));
    EXPECT_TRUE(compare_runs(trained(mesh, of), plain));
  }
}

/// All workers on every grid of these axes.
void add_grids(std::vector<Partition>& grids, const std::vector<std::string>& names) {
  const int n = Runtime::size();
  for (int a = 1; a <= n; ++a) {
    for (int b = 1; n % a == 0 && b <= n / a; ++b) {
      for (int c = 1; (n / a) % b == 0 && c <= n / a / b; ++c) {
        if ((n / a / b) % c != 0) continue;
        grids.push_back(Partition::world().grid(
            {{names[0], a}, {names[1], b}, {names[2], c}, {names[3], n / a / b / c}}));
      }
    }
  }
}

std::vector<Partition> all_grids() {
  std::vector<Partition> grids;
  add_grids(grids, {"dp", "ep", "sp", "tp"});
  return grids;
}

/// A few, in which each axis has workers.
std::vector<Partition> some_grids() {
  const Partition world = Partition::world();
  const int n = world.size();
  std::vector<Partition> grids{world.grid({{"ep", n}}), world.grid({{"dp", n}, {"xp", 1}})};
  if (n % 2 == 0) {
    grids.push_back(world.grid({{"dp", 2}, {"ep", n / 2}}));
    grids.push_back(world.grid({{"ep", n / 2}, {"st", 2}}));
    grids.push_back(world.grid({{"xp", n / 2}, {"sp", 2}}));
  }
  return grids;
}

TEST(Experts, TrainAsOneProcessAtEveryLayout) {
  expect_plain_training(
      {.gate = {.k = 2, .balance = GateOptions::Balance::gshard, .balance_weight = 0.5, .z_weight = 0.1}},
      all_grids());
}

TEST(Experts, TrainAsOneProcessWhereTokensAreTheSameOnTheirAxis) {
  std::vector<Partition> grids;
  add_grids(grids, {"dp", "xp", "sp", "st"});
  expect_plain_training(
      {.experts = 4, .gated = false, .gate = {.k = 3, .score = GateOptions::Score::sigmoid}, .steps = 2},
      grids);
}

TEST(Experts, TrainAsOneProcessUnderZeroRecomputeAndMicroBatches) {
  for (int stage = 0; stage <= 3; ++stage) {
    SCOPED_TRACE("stage " + std::to_string(stage));
    expect_plain_training({.gate = {.k = 2, .renormalise = false},
                           .zero = stage,
                           .recompute = stage % 2 == 1,
                           .micro_batches = stage == 0 ? 1 : 2,
                           .steps = 3},
                          some_grids());
  }
}

TEST(Experts, OfAnyNumberDropTokensAlike) {
  using Drop = GateOptions::Drop;
  for (const Case& of :
       {Case{.experts = 1, .gate = {.k = 1}, .steps = 2}, Case{.experts = 9, .gate = {.k = 9}, .steps = 2},
        Case{.experts = 2, .inner = 3, .gate = {.k = 1}, .steps = 2},
        Case{.experts = 5,
        .gate = {.k = 2,
                .drop = Drop::position,
                .capacity_factor = 0.7,
                .least_capacity = 1,
                .balance = GateOptions::Balance::all_choices}},
        Case{.experts = 5,
        .beside = true,
        .gate = {.k = 2, .drop = Drop::probability, .capacity_factor = 0.5, .least_capacity = 1},
        .steps = 2}}) {
    SCOPED_TRACE(std::to_string(of.experts) + " experts");
    expect_plain_training(of, some_grids());
  }
}

}  // namespace
}  // namespace riesz::testing
