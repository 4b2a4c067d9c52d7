// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Experts in a model whose letters are roles: their axis beside others, or as a part of dp or tp.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/experts/experts.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSequences = 5, kPlaces = 4, kStream = 6, kExperts = 3;

/// r: the experts of the router, whose logits are whole.
Roles letters_with_experts() {
  return {{'b', {Role::batch}},
          {'t', {Role::sequence}},
          {'c', {Role::width, kStream}},
          {'h', {Role::heads, 3}},
          {'d', {Role::whole, 2}},
          {'f', {Role::inner, 7}},
          {'e', {expert_role(), kExperts}},
          {'r', {Role::whole, kExperts}}};
}

struct Sparse {
  Vector x, loss;

  template <typename F>
  void each_vector(F&& f) {
    f(x), f(loss);
  }
};

/// (B, T, C) → (B, T, C): attention, then experts.
class SparseBlock : public Layer<SparseBlock> {
 public:
  explicit SparseBlock(OwnerAndName place) : Layer(std::move(place)) {}
  Sparse forward(const Sparse& in) {
    const Vector x = in.x + o_(attend_(q_(in.x), k_(in.x), v_(in.x)));
    const Vector n = norm_(x);
    const Routing routing = gate_(to_space(router_(n), experts_.gate_space(kExperts)));
    return {x + experts_(n, routing), in.loss + routing.loss};
  }
  std::string describe() const override { return "block with experts"; }

 private:
  Linear q_{*this, "q", "btc,hdc->bthd"}, k_{*this, "k", "btc,hdc->bthd"}, v_{*this, "v", "btc,hdc->bthd"};
  Attention attend_{*this, "attend", {.causal = true}};
  Linear o_{*this, "o", "bthd,chd->btc"};
  RmsNorm norm_{*this, "norm", "btc"};
  Linear router_{*this, "router", "btc,rc->btr", {.initial = Initial::normal(1), .bias = false}};
  TopKGate gate_{
      {*this, "gate"}, spaces().mesh(), kExperts, {.k = 2, .balance = GateOptions::Balance::all_choices}};
  Experts experts_{*this, "experts", "btc", "ef", {.initial = Initial::normal(0.5)}};
};

class SparseModel : public Layer<SparseModel> {
 public:
  explicit SparseModel(const ModelSpaces& spaces) : Layer("", spaces) {}
  Sparse forward(const Vector& x) {
    return blocks_(Sparse{x, distribute(Space(spaces().mesh(), {}), at::zeros({}, at::kDouble))});
  }
  std::string describe() const override { return "blocks with experts"; }

 private:
  Repeated<SparseBlock> blocks_{*this, "h", 2};
};

TrainingRun train_experts(const Layout& layout) {
  SparseModel model(ModelSpaces(layout, letters_with_experts()));
  model.initialise(7, at::kDouble);
  TrainingRun run;
  run.add_initial(model);
  SGD optimizer(whole(model.parameters()), {.learning_rate = 0.1});
  const std::vector<std::int64_t> shape{kSequences, kPlaces, kStream};
  const Space X = model.spaces().stream("btc").with_shape(shape);
  const at::Tensor seen = at::arange(kSequences * kPlaces * kStream, at::kDouble).view(shape);
  for (int step = 0; step < 2; ++step) {
    Chain chain;
    const Sparse out = model(distribute(X, seen.mul(step + 1.7).sin()));
    const Vector loss = mse_loss(out.x, distribute(X, seen.mul(0.3).cos())).mean() + out.loss;
    backward(loss);
    run.results["loss of step " + std::to_string(step)] = TrainingRun::gathered(model, loss);
    if (step == 0) run.add_gradients(model);
    optimizer.step();
    optimizer.zero_gradients();
  }
  run.add_weights(model);
  return run;
}

std::vector<Layout> layouts_with_experts() {
  using namespace spaces;
  const int p = Runtime::size();
  const auto grid = [](const std::vector<Axis>& axes) { return Partition::world().grid(axes); };
  std::vector<Layout> all{with_experts(one_d(grid({{"dp", 1}, {"ep", p}})), "dp"),
                          with_experts(one_d(grid({{"tp", 1}, {"ep", p}})), "tp"),
                          with_experts(sequence_parallel(grid({{"tp", 1}, {"ep", p}})), "tp"),
                          one_d(grid({{"ep", p}}))};
  if (p % 2 == 0 && p > 2) {
    const int rest = p / 2;
    all.push_back(with_experts(one_d(grid({{"dp", p}}).factor("dp", {{"dp", rest}, {"ep", 2}})), "dp"));
    all.push_back(with_experts(one_d(grid({{"tp", p}}).factor("tp", {{"tp", 2}, {"ep", rest}})), "tp"));
    all.push_back(with_experts(sequence_parallel(grid({{"tp", 2}, {"ep", rest}})), "tp"));
    all.push_back(with_experts(sequence_parallel(grid({{"ep", 2}, {"tp", rest}})), "dp"));
    all.push_back(with_experts(ring(grid({{"sp", 2}, {"ep", rest}})), "dp"));
  }
  if (p == 8) {
    const Partition cube = grid({{"dp", 2}, {"sp", 2}, {"tp", 1}, {"ep", 2}});
    all.push_back(with_experts(ulysses(cube), "tp"));
    all.push_back(with_experts(sequence_parallel(grid({{"dp", 2}, {"ep", 2}, {"tp", 2}})), "dp"));
  }
  return all;
}

TEST(ExpertLayouts, TrainAsOneWorkerWhateverAxisTheyTake) {
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train_experts(spaces::one_d(alone));
  for (const Layout& layout : layouts_with_experts())
    EXPECT_TRUE(compare_runs(train_experts(layout), one_worker))
        << layout.name << " on " << to_string(layout.mesh);
}

TEST(ExpertLayouts, TakeTheirAxisFromDataOrFromTensorParallelism) {
  const Partition mesh = Partition::simulated(12).grid({{"dp", 2}, {"tp", 6}});
  const Partition of_tp = mesh.factor("tp", {{"tp", 2}, {"ep", 3}});
  const ModelSpaces tensor(spaces::with_experts(spaces::one_d(of_tp), "tp"), letters_with_experts());
  EXPECT_EQ(tensor.stream("btc"), Space(of_tp, {Space::any, Space::any, kStream}).sharded(0, "dp"));
  EXPECT_EQ(tensor.inside("btf"),
            Space(of_tp, {Space::any, Space::any, 7}).sharded(0, "dp").sharded(2, "tp").sharded(2, "ep"));
  EXPECT_EQ(tensor.inside("ef"), Space(of_tp, {kExperts, 7}).copied("dp").sharded(0, "ep").sharded(1, "tp"));

  const Partition of_dp = Partition::simulated(12).grid({{"dp", 2}, {"ep", 3}, {"tp", 2}});
  const ModelSpaces data(spaces::with_experts(spaces::one_d(of_dp), "dp"), letters_with_experts());
  EXPECT_EQ(data.stream("btc"),
            Space(of_dp, {Space::any, Space::any, kStream}).sharded(0, "dp").sharded(0, "ep"));
  EXPECT_EQ(data.inside("ef"), Space(of_dp, {kExperts, 7}).copied("dp").sharded(0, "ep").sharded(1, "tp"));
}

/// Also where attention is computed, if that is elsewhere, and on each stage.
TEST(ExpertLayouts, TakeTheirAxisInEachPlaceAndOnEachStage) {
  using namespace spaces;
  const Partition mesh = Partition::simulated(8).grid({{"sp", 2}, {"tp", 2}, {"ep", 2}});
  const ModelSpaces heads(with_experts(ulysses(mesh), "tp"), letters_with_experts());
  EXPECT_EQ(heads.attending("bthd"),
            Space(mesh, {Space::any, Space::any, 3, 2}).sharded(2, "tp").sharded(2, "ep").sharded(2, "sp"));

  const Partition all = Partition::simulated(8).grid({{"pp", 2}, {"dp", 2}, {"ep", 2}});
  const ModelSpaces stages(
      with_experts(placed({one_d(all.at("pp", 0)), one_d(all.at("pp", 1))}, {{"h.1", 1}}), "dp"),
      letters_with_experts());
  for (const int stage : {0, 1})
    EXPECT_EQ(
        stages.stages()->spaces(stage).stream("btc"),
        Space(all.at("pp", stage), {Space::any, Space::any, kStream}).sharded(0, "dp").sharded(0, "ep"));
}

/// Inside of experts: else workers along tp would all compute the same.
TEST(ExpertLayouts, ShardInnerWidthsOverTensorParallelism) {
  const Partition mesh = Partition::world().grid({{"ep", 1}, {"tp", Runtime::size()}});
  SparseModel model(ModelSpaces(spaces::one_d(mesh), letters_with_experts()));
  int found = 0;
  for (const Parameter& each : model.parameters()) {
    const bool in = each.name().ends_with("w1.weight") || each.name().ends_with("w3.weight");
    if (!in && !each.name().ends_with("w2.weight")) continue;
    ++found;
    EXPECT_EQ(each.space().local_shape()[in ? 0 : 1],
              Split::balanced(7, Runtime::size())[Runtime::rank()].size())
        << each.name();
  }
  EXPECT_EQ(found, 2 * 3 * kExperts);
}

TEST(ExpertLayouts, SayWhatDoesNotFit) {
  using namespace spaces;
  EXPECT_ERROR(with_experts(one_d(Partition::simulated(2).grid({{"ep", 2}})), "row"),
               "one_d shards nothing over an axis \"row\"", "such as \"dp\"");
  EXPECT_ERROR(with_experts(ring(Partition::simulated(4).grid({{"sp", 2}, {"ep", 2}})), "sp"), "in runs");
  class Wrong : public Layer<Wrong> {
   public:
    explicit Wrong(const ModelSpaces& spaces) : Layer("", spaces) {}
    std::string describe() const override { return ""; }

   private:
    Experts experts_{*this, "experts", "btc", "rf", {}};
  };
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  EXPECT_ERROR(Wrong(ModelSpaces(one_d(alone), letters_with_experts())), "Experts: \"rf\"", "such as \"ef\"");
}

}  // namespace
}  // namespace riesz::testing
