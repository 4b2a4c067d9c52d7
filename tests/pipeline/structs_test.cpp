// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks that return a struct, with an auxiliary loss that goes from stage to stage, also run again.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kStructRows = 4, kStructWidth = 5;
constexpr int kStructBatches = 3;

Roles struct_roles() {
  return {{'b', {Role::batch}}, {'c', {Role::width, kStructWidth}}, {'f', {Role::inner, 6}}};
}

/// The stream, and the sum of the auxiliary losses so far.
struct WithLoss {
  Vector x;
  Vector loss;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(loss);
  }
};

class LossBlock : public Layer<LossBlock> {
 public:
  explicit LossBlock(OwnerAndName place) : Layer(std::move(place)) {}
  WithLoss forward(const WithLoss& in) {
    const Vector h = gelu(up_(in.x));
    return {in.x + down_(h), in.loss + sum(square(h), {}, {.all_reduce = true})};
  }
  std::string describe() const override { return "block with a loss"; }

 private:
  Linear up_{*this, "up", "bc,fc->bf", {.initial = Initial::normal(0.5)}};
  Linear down_{*this, "down", "bf,cf->bc", {.initial = Initial::normal(0.5)}};
};

/// Of a struct: a part of the last stage, which alone knows where that lies.
class LossHead : public Layer<LossHead> {
 public:
  LossHead(Module& owner, const std::string& name) : Layer({owner, name}) {}
  Vector forward(const WithLoss& in) {
    return sum(square(head_(in.x)), {}, {.all_reduce = true}) + 0.1 * in.loss;
  }
  std::string describe() const override { return "loss"; }

 private:
  Linear head_{*this, "head", "bc,fc->bf"};
};

class LossNet : public Layer<LossNet> {
 public:
  explicit LossNet(const ModelSpaces& spaces) : Layer("", spaces) {}
  Vector forward(const Vector& x) {
    const Vector none = distribute(Space(spaces().mesh(), {}), at::zeros({}, at::kDouble));
    return loss_(blocks_(WithLoss{x, none}));
  }
  std::string describe() const override { return "net with losses"; }

 private:
  Repeated<LossBlock> blocks_{*this, "blocks", 4};
  LossHead loss_{*this, "loss"};
};

Vector loss_of(LossNet& model, std::int64_t i) {
  const at::Tensor x =
      at::arange(kStructRows * kStructWidth, at::kDouble).add(7 * i).sin().view({kStructRows, kStructWidth});
  return model(distribute(model.spaces().stream("bc").with_shape(x.sizes().vec()), x));
}

TrainingRun left_in(const Partition& all, LossNet& model, const std::vector<double>& losses) {
  TrainingRun run;
  run.results["losses"] = at::tensor(losses, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    run.initial[parameter.name()] = known_to_all(all, parameter.get());
    run.results[parameter.name()] = known_to_all(all, parameter.gradient());
  }
  return run;
}

TrainingRun net_alone() {
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  LossNet model(ModelSpaces(spaces::one_d(one), struct_roles()));
  model.initialise(3, at::kDouble);
  std::vector<double> losses;
  for (int i = 0; i < kStructBatches; ++i) {
    const Chain chain;
    const Vector loss = loss_of(model, i);
    losses.push_back(loss.local().item<double>());
    backward(loss);
  }
  return left_in(one, model, losses);
}

TrainingRun net_on_stages(const std::string& schedule, bool again) {
  const Partition mesh = Partition::world().grid({{"pp", 2}, {"dp", 1}, {"tp", Runtime::size() / 2}});
  LossNet model(Stages({spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))}, struct_roles(),
                       {{"blocks.2", 1}, {"blocks.3", 1}, {"loss", 1}}));
  model.initialise(3, at::kDouble);
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  const Pipeline pipeline(model, make_schedule(schedule, {.stages = 2, .micro_batches = kStructBatches}));
  const std::vector<double> losses = pipeline.train([&](std::int64_t i) { return loss_of(model, i); });
  return left_in(Partition::world(), model, losses);
}

TEST(Structs, CarryALossOverStagesAlsoWhereBlocksRunAgain) {
  if (Runtime::size() % 2 != 0) return;
  const TrainingRun reference = net_alone();
  for (const std::string schedule : {"gpipe", "one_f_one_b"})
    for (const bool again : {false, true})
      EXPECT_TRUE(compare_runs(net_on_stages(schedule, again), reference))
          << schedule << (again ? ", blocks run again" : "");
}

}  // namespace
}  // namespace riesz::testing
