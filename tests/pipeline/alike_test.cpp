// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// All workers must know alike what crosses a boundary and whether a gradient comes back, also those that
// compute nothing of it: of results that are one vector, of arguments that are given back, of what alone is
// trained among operands, of what is computed between modules, and after parameters are frozen.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kWidth = 5;
constexpr int kMicroBatches = 4;

class Part : public Layer<Part> {
 public:
  explicit Part(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) { return gelu(linear_(x)); }
  Vector forward(const Vector& x, const Vector& skip) { return forward(x) + second_(skip); }
  std::string describe() const override { return "part"; }

 private:
  Linear linear_{*this, "linear", "bc,cf->bf", {.initial = Initial::normal(0.2)}};
  Linear second_{*this, "second", "bc,cf->bf", {.initial = Initial::normal(0.2)}};
};

class Twins : public Layer<Twins> {
 public:
  explicit Twins(OwnerAndName place) : Layer(std::move(place)) {}
  std::pair<Vector, Vector> forward(const Vector& x) {
    const Vector y = gelu(x);
    return {y, y};
  }
  std::string describe() const override { return "twins"; }
};

class Same : public Layer<Same> {
 public:
  explicit Same(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) { return x; }
  std::string describe() const override { return "the same"; }
};

class Model : public Layer<Model> {
 public:
  using Way = std::function<Vector(Model&, const Vector&)>;
  Model(const ModelSpaces& spaces, Way way) : Layer("", spaces), way_(std::move(way)) {
    for (const std::string i : {"0", "1", "2"}) {
      parts_.emplace_back(OwnerAndName(*this, "part." + i));
      twins.emplace_back(OwnerAndName(*this, "twins." + i));
      same.emplace_back(OwnerAndName(*this, "same." + i));
    }
  }
  Vector forward(const Vector& x) { return way_(*this, x); }
  Part& operator[](std::size_t i) { return parts_[i]; }
  std::string describe() const override { return "model"; }

 private:
  Way way_;
  std::deque<Part> parts_;

 public:
  LayerNorm norm{*this, "norm", "bc", 1e-5};
  std::deque<Twins> twins;
  std::deque<Same> same;
};

const std::map<std::string, Model::Way>& ways() {
  static const std::map<std::string, Model::Way> all{
      {"a norm of what has no gradient", [](Model& m, const Vector& x) { return m[2](m[1](m.norm(x))); }},
      {"one after another", [](Model& m, const Vector& x) { return m[2](m[1](m[0](x))); }},
      {"one vector as two results",
       [](Model& m, const Vector& x) {
         const auto [a, b] = m.twins[0](m[0](x));
         return m[2](m[1](a, b));
       }},
      {"an argument given back",
       [](Model& m, const Vector& x) {
         const Vector a = m[0](x);
         return m[2](m[1](m.same[0](a), a));
       }},
      {"an argument and its norm",
       [](Model& m, const Vector& x) {
         const Vector a = m[0](x);
         return m[2](m[1](m.norm(a), a));
       }},
      {"a skip made late", [](Model& m, const Vector& x) {
         const Vector a = m[0](x);
         const Vector b = m[1](a);
         const Vector late = gelu(a);
         return m[2](b, late);
       }}};
  return all;
}

Roles roles() { return {{'b', {Role::batch}}, {'c', {Role::width, kWidth}}, {'f', {Role::whole, kWidth}}}; }

Vector loss_of(Model& model, std::int64_t i) {
  const Space X = model.spaces().stream("bc");
  const at::Tensor x =
      at::arange(3 * kWidth, at::kDouble).reshape({3, kWidth}).mul(0.1).sub(0.5 * static_cast<double>(i));
  return sum(gelu(model(distribute(X.with_shape(x.sizes().vec()), x))), {}, {.all_reduce = true});
}

using Freezes = std::function<bool(const std::string& parameter)>;
void freeze(Model& model, const Freezes& freezes) {
  for (Parameter& parameter : model.parameters())
    if (freezes && freezes(parameter.name())) parameter.freeze();
}

TrainingRun results_of(const Partition& all, Model& model, const std::vector<double>& losses) {
  TrainingRun run;
  run.results["losses"] = at::tensor(losses, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    run.initial[parameter.name()] = known_to_all(all, parameter.get());
    run.results[parameter.name()] = known_to_all(all, parameter.gradient());
  }
  return run;
}

TrainingRun alone(const Model::Way& way, const Freezes& freezes = {}) {
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  Model model(ModelSpaces(spaces::one_d(one), roles()), way);
  model.initialise(3, at::kDouble);
  freeze(model, freezes);
  std::vector<double> losses;
  for (int i = 0; i < kMicroBatches; ++i) {
    const Chain chain;
    const Vector loss = loss_of(model, i);
    losses.push_back(loss.local().item<double>());
    backward(loss);
  }
  return results_of(one, model, losses);
}

int stages_here() { return Runtime::size() % 3 == 0 ? 3 : 2; }

/// Part i lies on stage i, or on the last.
Stages stages() {
  const int pp = stages_here();
  const Partition mesh = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}});
  std::vector<Layout> layouts;
  for (int stage = 0; stage < pp; ++stage) layouts.push_back(spaces::one_d(mesh.at("pp", stage)));
  std::map<std::string, int> stage_of;
  for (int i = 0; i < 3; ++i) {
    for (const std::string kind : {"part.", "twins.", "same."})
      stage_of[kind + std::to_string(i)] = std::min(i, pp - 1);
  }
  return Stages(layouts, roles(), stage_of);
}

Pipeline pipeline_of(const Model& model) {
  return Pipeline(model, make_schedule("gpipe", {.stages = stages_here(), .micro_batches = kMicroBatches}));
}

/// Three runs, of which the last counts; parameters are frozen before, or after the first.
TrainingRun piped(const Model::Way& way, const Freezes& freezes = {}, bool late = false) {
  Model model(stages(), way);
  model.initialise(3, at::kDouble);
  if (!late) freeze(model, freezes);
  const Pipeline pipeline = pipeline_of(model);
  std::vector<double> losses;
  for (int run = 0; run < 3; ++run) {
    for (Parameter& parameter : model.parameters()) parameter.zero_gradient();
    losses = pipeline.train([&](std::int64_t i) { return loss_of(model, i); });
    if (late && run == 0) freeze(model, freezes);
  }
  return results_of(Partition::world(), model, losses);
}

TEST(PipelineWorkers, KnowAlikeWhatCrosses) {
  if (Runtime::size() == 1 || Runtime::size() == 8) return;
  for (const auto& [name, way] : ways()) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(compare_runs(piped(way), alone(way)));
  }
}

TEST(PipelineWorkers, KnowAlikeWhetherAGradientComesBack) {
  if (Runtime::size() == 1) return;
  const Model::Way& way = ways().at("one after another");
  const Freezes weights = [](const std::string& name) { return name.ends_with("weight"); };
  EXPECT_TRUE(compare_runs(piped(way, weights), alone(way, weights))) << "biases alone are trained";
  const Freezes first = [](const std::string& name) { return name.starts_with("part.0"); };
  EXPECT_TRUE(compare_runs(piped(way, first, true), alone(way, first))) << "frozen between runs";
}

TEST(PipelineWorkers, EvaluateWhatComesBackToAChunk) {
  if (Runtime::size() == 1) return;
  const Model::Way rounds = [](Model& m, const Vector& x) {
    Vector y = m[0](x);
    for (int i = 0; i < 2; ++i) y = m[0](m[1](y));
    return m[2](y);
  };
  Model model(stages(), rounds);
  model.initialise(3, at::kDouble);
  std::map<std::int64_t, Vector> losses;
  pipeline_of(model).evaluate([&](std::int64_t i) { losses.emplace(i, loss_of(model, i)); });
  const at::Tensor expected = alone(rounds).results.at("losses");
  for (const auto& [i, loss] : losses)
    EXPECT_NEAR(known_to_all(Partition::world(), loss).item<double>(), expected[i].item<double>(), 1e-12);
}

}  // namespace
}  // namespace riesz::testing
