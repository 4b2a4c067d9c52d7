// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Masks that are made on one stage and given to an attention on another.
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t B = 3, T = 5, C = 6;
constexpr int kMicroBatches = 3;

Roles roles() {
  return {{'b', {Role::batch}},    {'t', {Role::sequence}}, {'s', {Role::sequence}}, {'c', {Role::width, C}},
          {'h', {Role::heads, 2}}, {'d', {Role::whole, 3}}, {'p', {Role::whole, T}}, {'r', {Role::whole, T}}};
}

/// What is added to scores: a parameter, of any x.
class Bias : public Layer<Bias> {
 public:
  Bias(Module& owner, const std::string& name) : Layer({owner, name}) {}
  Vector forward(const Vector& /*x*/) { return 1.0 * bias_.value(); }
  std::string describe() const override { return "bias"; }

 private:
  Parameter bias_{parameter("bias", Space(spaces().mesh(), {T, T}).copied("dp"), {Initial::normal(1)})};
};

/// A struct that does not say its vectors.
struct Silent {
  Vector seen;
};

/// Attends to what such a struct says.
class Taking : public Layer<Taking> {
 public:
  Taking(Module& owner, const std::string& name) : Layer({owner, name}) {}
  Vector forward(const Vector& q, const Silent& given) { return attention(q, q, q, {.seen = given.seen}); }
  std::string describe() const override { return "taking"; }
};

/// (B, T, C) → (B, T, C): projections, and what masks are made of, on one stage, attention on another.
class Masked : public Layer<Masked> {
 public:
  enum class By { keys, positions, bias, silent };

  Masked(const ModelSpaces& spaces, By by) : Layer("", spaces), by_(by) {}

  Vector forward(const Vector& x) {
    const Vector q = first_(x);
    const Vector seen = map("not padding", select_first(x), [](const at::Tensor& t) { return t.gt(-1); });
    switch (by_) {
      case By::keys:
        return last_(attend_(q, q, q, AttentionCall{.seen = seen}));
      case By::positions: {
        const at::Tensor lower = at::ones({T, T}, at::kDouble).tril(1).gt(0);
        const Vector mask = distribute(Space(x.space().partition(), {T, T}), lower);
        return last_(attend_(q, q, q, AttentionCall{.mask = mask, .seen = seen}));
      }
      case By::bias:
        return last_(attend_(q, q, q, AttentionCall{.mask = bias_(x), .seen = seen}));
      case By::silent:
        break;
    }
    return last_(taking_(q, Silent{seen}));
  }
  std::string describe() const override { return "masked"; }

 private:
  static Vector select_first(const Vector& x) { return sum(x, {2}); }

  By by_;
  Linear first_{*this, "first", "btc,chd->bthd", {.initial = Initial::normal(0.5)}};
  Bias bias_{*this, "bias"};
  Attention attend_{*this, "attend", {.queries = "bthd", .keys = "bthd"}};
  Taking taking_{*this, "taking"};
  Linear last_{*this, "last", "bthd,hdc->btc", {.initial = Initial::normal(0.5)}};
};

Vector loss_of(Masked& model, std::int64_t i) {
  const at::Tensor x = at::arange(B * T * C, at::kDouble).add(7 * i).sin().reshape({B, T, C});
  return sum(square(model(distribute(model.spaces().stream("btc").with_shape({B, T, C}), x))), {},
             {.all_reduce = true});
}

TrainingRun results_of(const Partition& all, Masked& model, const std::vector<double>& losses) {
  TrainingRun run;
  run.results["losses"] = at::tensor(losses, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    run.initial[parameter.name()] = known_to_all(all, parameter.get());
    run.results[parameter.name()] = known_to_all(all, parameter.gradient());
  }
  return run;
}

TrainingRun alone(Masked::By by) {
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  Masked model(ModelSpaces(spaces::one_d(one), roles()), by);
  model.initialise(3, at::kDouble);
  std::vector<double> losses;
  for (int i = 0; i < kMicroBatches; ++i) {
    const Chain chain;
    const Vector loss = loss_of(model, i);
    losses.push_back(loss.local().item<double>());
    backward(loss);
  }
  return results_of(one, model, losses);
}

Stages two_stages() {
  const Partition mesh = Partition::world().grid({{"pp", 2}, {"dp", Runtime::size() / 2}});
  return {{spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))},
          roles(),
          {{"attend", 1}, {"taking", 1}, {"last", 1}}};
}

TrainingRun piped(Masked::By by, const std::string& schedule) {
  Masked model(two_stages(), by);
  model.initialise(3, at::kDouble);
  const Pipeline pipeline(model, make_schedule(schedule, {.stages = 2, .micro_batches = kMicroBatches}));
  const std::vector<double> losses = pipeline.train([&](std::int64_t i) { return loss_of(model, i); });
  return results_of(Partition::world(), model, losses);
}

TEST(Masks, CrossStagesAsAllElseThatACallIsGiven) {
  if (Runtime::size() % 2 != 0) return;
  for (const auto by : {Masked::By::keys, Masked::By::positions, Masked::By::bias}) {
    const TrainingRun reference = alone(by);
    for (const std::string schedule : {"gpipe", "one_f_one_b"}) {
      SCOPED_TRACE(schedule + " by " + std::to_string(static_cast<int>(by)));
      EXPECT_TRUE(compare_runs(piped(by, schedule), reference));
    }
  }
}

/// What no call brings there is refused before anything is sent, on the workers of both stages.
TEST(Masks, ThatLieOnAnotherStageAreRefused) {
  if (Runtime::size() % 2 != 0) return;
  EXPECT_ERROR(piped(Masked::By::silent, "gpipe"), "attention: .seen lies on other workers than q",
               "give it to the module as an argument");
}

}  // namespace
}  // namespace riesz::testing
