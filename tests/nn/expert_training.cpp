// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "expert_training.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "plain_experts.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/store.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kRows = 4, kLength = 3, kWidth = 5;
constexpr std::uint64_t kSeed = 11;
constexpr AdamWOptions kAdam{.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1};

/// The result of a block: what goes on, and its gate's loss.
struct ExpertsGiven {
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

class ExpertBlock : public Layer<ExpertBlock> {
 public:
  ExpertBlock(OwnerAndName place, const Space& X, const ExpertPlaces& places, const ExpertCase& of)
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
                  .initial_down = Initial::normal(0.5),
                  .transposed = of.like_gpt2,
                  .up_bias = of.like_gpt2 ? "w3.bias" : "",
                  .down_bias = of.like_gpt2 ? "w2.bias" : ""}),
        shared_({*this, "shared"}, "bti,oi->bto", X, Space(X.partition(), {kWidth, kWidth}), X,
                {.bias = false}) {}

  ExpertsGiven forward(const Vector& x) {
    const Routing routing = gate_(to_space(router_(x), experts_.gate_space(of_.experts)));
    if (!of_.beside) return {x + experts_(x, routing), routing.loss};
    const std::function<Vector(const Vector&)> shared = [this](const Vector& v) { return shared_(v); };
    return {x + experts_(x, routing, shared), routing.loss};
  }
  std::string describe() const override { return "block"; }

 private:
  ExpertCase of_;
  Linear router_;
  TopKGate gate_;
  Experts experts_;
  Linear shared_;
};

class ExpertModel : public Layer<ExpertModel> {
 public:
  ExpertModel(const Space& X, const ExpertPlaces& places, const ExpertCase& of)
      : Layer(""), first_({*this, "h.0"}, X, places, of), second_({*this, "h.1"}, X, places, of) {
    set_domain(X);
    if (of.recompute)
      for (ExpertBlock* block : {&first_, &second_}) block->set_recompute(RecomputeOptions{});
  }
  ExpertsGiven forward(const Vector& x) {
    const ExpertsGiven one = first_(x);
    const ExpertsGiven two = second_(one.y);
    return {two.y, one.loss + two.loss};
  }
  std::string describe() const override { return "two blocks"; }

 private:
  ExpertBlock first_, second_;
};

at::Tensor inputs(int step) {
  return draws({kRows, kLength, kWidth}, 100 + static_cast<std::uint64_t>(step));
}
at::Tensor targets(int step) {
  return draws({kRows, kLength, kWidth}, 200 + static_cast<std::uint64_t>(step));
}

Space stream(const Partition& mesh) {
  Space X(mesh, {Space::any, kLength, kWidth});
  if (mesh.find("sp") >= 0) X = X.zigzag(1, "sp");
  if (mesh.find("st") >= 0) X = X.sharded(1, "st");
  for (const char* axis : {"dp", "ep"})
    if (mesh.find(axis) >= 0) X = X.sharded(0, axis);
  return X;
}

void make_ties(const Module& model) {
  const at::NoGradGuard no_gradient;
  for (const Parameter& each : model.parameters())
    if (each.name().ends_with("router.weight")) each.value().local().zero_();
}

ExpertPlaces places_on(const Partition& mesh) { return {mesh.find("xp") >= 0 ? "xp" : "ep", {"tp", "st"}}; }

std::unique_ptr<Optimizer> made_optimizer(const ExpertCase& of, const std::shared_ptr<Store>& store) {
  if (!of.lamb) return std::make_unique<AdamW>(store, kAdam);
  const LambOptions options{
      .learning_rate = kAdam.learning_rate, .epsilon = kAdam.epsilon, .weight_decay = kAdam.weight_decay};
  return std::make_unique<Lamb>(store, options);
}

}  // namespace

TrainingRun train_expert_blocks(const Partition& mesh, const ExpertCase& of) {
  ExpertModel model(stream(mesh), places_on(mesh), of);
  model.initialise(kSeed, at::kDouble);
  if (of.ties) make_ties(model);
  TrainingRun run;
  run.add_initial(model);
  std::vector<std::string> summed;
  for (const char* axis : {"dp", "ep", "sp"})
    if (mesh.find(axis) >= 0) summed.emplace_back(axis);
  std::optional<Zero> zero;
  if (of.zero) zero.emplace(model.parameters(), ZeroOptions{.stage = *of.zero, .axes = summed, .keep = 0});
  const std::unique_ptr<Optimizer> optimizer =
      made_optimizer(of, zero ? zero->store() : whole(model.parameters()));
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
      const ExpertsGiven given = model(x);
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
    optimizer->step();
    optimizer->zero_gradients();
  }
  run.add_weights(model);
  return run;
}

namespace {

/// One block in torch's operations, with `weights` by name.
at::Tensor plain_block(const ExpertCase& of, std::map<std::string, at::Tensor>& weights,
                       const std::string& block, const at::Tensor& x, at::Tensor& loss) {
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
    const at::Tensor &up = weights.at(name + "w3.weight"), &down = weights.at(name + "w2.weight");
    experts.push_back({of.gated ? weights.at(name + "w1.weight") : at::Tensor(), of.like_gpt2 ? up.t() : up,
                       of.like_gpt2 ? down.t() : down});
    if (!of.like_gpt2) continue;
    experts.back().up_bias = weights.at(name + "w3.bias");
    experts.back().down_bias = weights.at(name + "w2.bias");
  }
  const plain::Gated routing = plain::gated(gate, at::linear(tokens, weights.at(block + ".router.weight")));
  loss = loss + routing.loss;
  at::Tensor y = tokens + plain::experts(experts, tokens, routing);
  if (of.beside) y = y + at::linear(tokens, weights.at(block + ".shared.weight"));
  return y.view(x.sizes());
}

}  // namespace

TrainingRun train_expert_blocks_plainly(const ExpertCase& of, const TrainingRun& like) {
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
      const double decay = name.ends_with(".bias") ? 0 : kAdam.weight_decay;
      const at::Tensor moved = m / (v.sqrt() + kAdam.epsilon) + decay * w;
      const double ratio = of.lamb ? w.norm().item<double>() / moved.norm().item<double>() : 1;
      w.sub_(kAdam.learning_rate * (ratio > 0 && std::isfinite(ratio) ? ratio : 1) * moved);
      w.mutable_grad().reset();
    }
    run.results["norm of step " + std::to_string(step)] = norm.sqrt();
  }
  for (const auto& [name, w] : weights) run.results[name + " after training"] = w.detach();
  return run;
}

std::vector<Partition> grids_of_four(const std::vector<std::string>& names) {
  std::vector<Partition> grids;
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
  return grids;
}

}  // namespace riesz::testing
