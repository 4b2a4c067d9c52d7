// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models of parts that are put together in one way or another, alone and on stages.
#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {

inline constexpr std::int64_t kWidth = 5;
inline constexpr int kMicroBatches = 4;

/// (B, C) → (B, C).
class Part : public Layer<Part> {
 public:
  explicit Part(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) { return x + gelu(linear_(x)); }
  Vector forward(const Vector& x, const Vector& skip) { return forward(x) + second_(skip); }
  std::string describe() const override { return "part"; }

 private:
  Linear linear_{*this, "linear", "bc,cf->bf", {.initial = Initial::normal(0.2)}};
  Linear second_{*this, "second", "bc,cf->bf", {.initial = Initial::normal(0.2)}};
};

/// What goes from part to part of a model that carries more than one vector, and plain values.
struct Carried {
  Vector x;
  std::vector<Vector> before;
  int parts = 0;

  template <typename F>
  void each_vector(F&& f) {
    f(x);
    for (Vector& each : before) f(each);
  }
};

class CarryingPart : public Layer<CarryingPart> {
 public:
  explicit CarryingPart(OwnerAndName place) : Layer(std::move(place)) {}
  Carried forward(Carried c) {
    c.before.push_back(c.x);
    for (const Vector& each : c.before) c.x = part_(c.x, each);
    ++c.parts;
    return c;
  }
  std::string describe() const override { return "carrying part"; }

 private:
  Part part_{{*this, "part"}};
};

inline std::set<bool> taken;  // the branches

/// Parts, and the way in which they are a model.
class Parts : public Layer<Parts> {
 public:
  using Way = std::function<Vector(Parts&, const Vector&)>;

  Parts(const ModelSpaces& spaces, Way way) : Layer("", spaces), way_(std::move(way)) {
    for (const std::string i : {"0", "1", "2", "3"}) {
      parts_.emplace_back(OwnerAndName(*this, "part." + i));
      carrying_.emplace_back(OwnerAndName(*this, "carrying." + i));
    }
  }
  Vector forward(const Vector& x) { return way_(*this, x); }
  Part& operator[](std::size_t i) { return parts_[i]; }
  CarryingPart& carrying(std::size_t i) { return carrying_[i]; }
  bool is_large(const Vector& x) {
    const bool large = known_everywhere(*this, mean(x)).item<double>() > 0;
    taken.insert(large);
    return large;
  }
  std::string describe() const override { return "parts"; }

 private:
  Way way_;
  std::deque<Part> parts_;
  std::deque<CarryingPart> carrying_;
};

inline const std::map<std::string, Parts::Way>& ways() {
  static const std::map<std::string, Parts::Way> all{
      {"a skip over stages",
       [](Parts& p, const Vector& x) {
         const Vector first = p[0](x);
         return p[3](p[2](p[1](first)), first);
       }},
      {"one vector to several stages, twice to one",
       [](Parts& p, const Vector& x) {
         const Vector a = p[0](x);
         const Vector b = p[1](a, a);
         return p[3](p[2](b, a), a);
       }},
      {"structs",
       [](Parts& p, const Vector& x) {
         Carried c{x, {}};
         for (std::size_t i = 0; i < 4; ++i) c = p.carrying(i)(std::move(c));
         EXPECT_EQ(c.parts, 4);
         return c.x;
       }},
      {"a branch by the data",
       [](Parts& p, const Vector& x) {
         const Vector first = p[0](x);
         return p[3](p.is_large(first) ? p[1](first) : p[2](first));
       }},
      {"rounds by the data",
       [](Parts& p, const Vector& x) {
         Vector y = p[0](x);
         for (int i = 0; i < 3 && !p.is_large(y); ++i) y = p[1](p[2](y), p[0](y));
         return p[3](y);
       }},
  };
  return all;
}

inline Roles roles() {
  return {{'b', {Role::batch}}, {'c', {Role::width, kWidth}}, {'f', {Role::whole, kWidth}}};
}

/// Of micro-batch i, of unequal numbers of rows; some have a large mean, some a small one.
inline Vector loss_of(Parts& model, const Space& X, std::int64_t i) {
  const std::int64_t rows = 2 + i % 3;
  const at::Tensor x =
      at::arange(rows * kWidth, at::kDouble).reshape({rows, kWidth}).mul(0.1).sub(i % 2 == 0 ? 0 : 3);
  return sum(gelu(model(distribute(X.with_shape(x.sizes().vec()), x))), {}, {.all_reduce = true});
}

inline TrainingRun results_of(const Partition& all, Parts& model, const std::vector<double>& losses) {
  TrainingRun run;
  run.results["losses"] = at::tensor(losses, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    run.initial[parameter.name()] = known_to_all(all, parameter.get());
    run.results[parameter.name()] = known_to_all(all, parameter.gradient());
  }
  return run;
}

inline Partition one_worker() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}); }

inline TrainingRun trained_alone(Parts& model) {
  std::vector<double> losses;
  for (int i = 0; i < kMicroBatches; ++i) {
    const Chain chain;
    const Vector loss = loss_of(model, model.spaces().stream("bc"), i);
    losses.push_back(loss.local().item<double>());
    backward(loss);
  }
  return results_of(one_worker(), model, losses);
}

inline TrainingRun alone(const Parts::Way& way) {
  Parts model(ModelSpaces(spaces::one_d(one_worker()), roles()), way);
  model.initialise(3, at::kDouble);
  return trained_alone(model);
}

/// Part i lies on stage_of[i], stage s on the workers pp = worker_of[s].
inline Stages parts_on(int pp, const std::vector<int>& worker_of, const std::vector<int>& stage_of) {
  const Partition mesh = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}});
  std::vector<Layout> layouts;
  for (const int worker : worker_of) layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  std::map<std::string, int> stages;
  for (std::size_t i = 0; i < stage_of.size(); ++i)
    stages["part." + std::to_string(i)] = stages["carrying." + std::to_string(i)] = stage_of[i];
  return {layouts, roles(), stages};
}

/// Part i lies on stage i·pp/4.
inline Stages equal_stages(int pp) {
  std::vector<int> workers, stage_of;
  for (int i = 0; i < pp; ++i) workers.push_back(i);
  for (int i = 0; i < 4; ++i) stage_of.push_back(i * pp / 4);
  return parts_on(pp, workers, stage_of);
}

inline int stages_here() {
  for (const int pp : {4, 3, 2}) {
    if (Runtime::size() % pp == 0) return pp;
  }
  return 1;
}

}  // namespace riesz::testing
