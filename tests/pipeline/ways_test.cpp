// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models that are no sequence of layers: a skip over stages, structs of several vectors, branches and numbers
// of rounds that the data decides. Each gives on a pipeline what it gives alone.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/zero/stage_zeros.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kWidth = 5;
constexpr int kMicroBatches = 4;

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

std::set<bool> taken;  // the branches

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

const std::map<std::string, Parts::Way>& ways() {
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

Roles roles() { return {{'b', {Role::batch}}, {'c', {Role::width, kWidth}}, {'f', {Role::whole, kWidth}}}; }

/// Of micro-batch i, of unequal numbers of rows; some have a large mean, some a small one.
Vector loss_of(Parts& model, const Space& X, std::int64_t i) {
  const std::int64_t rows = 2 + i % 3;
  const at::Tensor x =
      at::arange(rows * kWidth, at::kDouble).reshape({rows, kWidth}).mul(0.1).sub(i % 2 == 0 ? 0 : 3);
  return sum(gelu(model(distribute(X.with_shape(x.sizes().vec()), x))), {}, {.all_reduce = true});
}

TrainingRun results_of(const Partition& all, Parts& model, const std::vector<double>& losses) {
  TrainingRun run;
  run.results["losses"] = at::tensor(losses, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    run.initial[parameter.name()] = known_to_all(all, parameter.get());
    run.results[parameter.name()] = known_to_all(all, parameter.gradient());
  }
  return run;
}

TrainingRun alone(const Parts::Way& way) {
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  Parts model(ModelSpaces(spaces::one_d(one), roles()), way);
  model.initialise(3, at::kDouble);
  std::vector<double> losses;
  for (int i = 0; i < kMicroBatches; ++i) {
    const Chain chain;
    const Vector loss = loss_of(model, model.spaces().stream("bc"), i);
    losses.push_back(loss.local().item<double>());
    backward(loss);
  }
  return results_of(one, model, losses);
}

/// Part i lies on stage_of[i], stage s on the workers pp = worker_of[s].
Stages parts_on(int pp, const std::vector<int>& worker_of, const std::vector<int>& stage_of) {
  const Partition mesh = Partition::world().grid({{"pp", pp}, {"dp", Runtime::size() / pp}});
  std::vector<Layout> layouts;
  for (const int worker : worker_of) layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  std::map<std::string, int> stages;
  for (std::size_t i = 0; i < stage_of.size(); ++i)
    stages["part." + std::to_string(i)] = stages["carrying." + std::to_string(i)] = stage_of[i];
  return {layouts, roles(), stages};
}

/// Part i lies on stage i·pp/4.
Stages equal_stages(int pp) {
  std::vector<int> workers, stage_of;
  for (int i = 0; i < pp; ++i) workers.push_back(i);
  for (int i = 0; i < 4; ++i) stage_of.push_back(i * pp / 4);
  return parts_on(pp, workers, stage_of);
}

TrainingRun piped(const Parts::Way& way, const std::string& schedule, int pp, const Stages& stages) {
  Parts model(stages, way);
  model.initialise(3, at::kDouble);
  const Pipeline pipeline(model, make_schedule(schedule, {.stages = pp, .micro_batches = kMicroBatches}));
  const std::vector<double> losses =
      pipeline.train([&](std::int64_t i) { return loss_of(model, model.spaces().stream("bc"), i); });
  return results_of(Partition::world(), model, losses);
}

/// By GPipe on equal stages, in two steps of `runs` runs each. `begin` says which micro-batch of a step
/// begins.
TrainingRun in_runs(int pp, int runs, Parts& model, const std::function<void(std::int64_t)>& begin,
                    Store& store) {
  const std::int64_t m = kMicroBatches / runs;
  const Pipeline pipeline(model,
                          make_schedule("gpipe", {.stages = pp, .micro_batches = static_cast<int>(m)}));
  std::vector<double> losses;
  for (const int step : {0, 1}) {
    if (step > 0) store.shares();  // all have come
    store.zero_gradients();
    losses.clear();
    for (int run = 0; run < runs; ++run) {
      for (const double loss : pipeline.train([&](std::int64_t i) {
             begin(run * m + i);
             return loss_of(model, model.spaces().stream("bc"), run * m + i);
           }))
        losses.push_back(loss);
    }
  }
  return results_of(Partition::world(), model, losses);
}

int stages_here() {
  for (const int pp : {4, 3, 2}) {
    if (Runtime::size() % pp == 0) return pp;
  }
  return 1;
}

/// Each way by one schedule here, and by all three on 2, 3 and 4 ranks together.
TEST(Ways, AreGoneByAPipelineToo) {
  const int pp = stages_here();
  const std::vector<std::string> schedules{"gpipe", "one_f_one_b", "zb_h1"};
  auto number = static_cast<std::size_t>(Runtime::size());
  for (const auto& [name, way] : ways()) {
    taken.clear();
    const TrainingRun reference = alone(way);
    const bool decides = name.find("by the data") != std::string::npos;
    EXPECT_EQ(taken.size(), decides ? 2U : 0U) << name << ": the data decides nothing";
    const std::string schedule = name == "rounds by the data" ? "gpipe" : schedules[number++ % 3];
    SCOPED_TRACE(name + " by " + schedule);
    EXPECT_TRUE(compare_runs(piped(way, schedule, pp, equal_stages(pp)), reference));
  }
}

Vector twice(Parts& p, const Vector& x) { return p[3](p[0](p[3](p[0](x)))); }

/// To stages by a fixed way, and by the data, of which some micro-batches do not come back. Each visit is a
/// pass of the stage's Zero, in all runs of a step.
TEST(Ways, ComeBackInEachRunOfAStep) {
  const int pp = Runtime::size() % 2 == 0 ? 2 : stages_here();  // from 4 workers on several share a stage
  if (pp == 1) return;
  for (const Parts::Way& way : {Parts::Way(twice), ways().at("rounds by the data")}) {
    const TrainingRun reference = alone(way);
    for (const int zero : {0, 1, 2, 3}) {
      for (const int runs : {1, 2}) {
        SCOPED_TRACE(::testing::Message() << "stage " << zero << " of ZeRO, " << runs << " runs");
        Parts model(equal_stages(pp), way);
        model.initialise(3, at::kDouble);
        StageZeros zeros(model, {.stage = zero});
        const auto begin = [&](std::int64_t i) { zeros.begin(i, kMicroBatches); };
        EXPECT_TRUE(compare_runs(in_runs(pp, runs, model, begin, *zeros.store()), reference));
      }
    }
  }
}

/// Where each chunk's Zero is told by hand, and of too few passes, all workers say so in the second run.
TEST(Ways, ComeBackAsOftenAsIsSaid) {
  const int pp = Runtime::size() % 2 == 0 ? 2 : stages_here();
  if (pp == 1) return;
  for (const std::int64_t said : {2, 1}) {
    Parts model(equal_stages(pp), twice);
    model.initialise(3, at::kDouble);
    const Pipeline chunks(model, make_schedule("gpipe", {.stages = pp, .micro_batches = 1}));
    std::deque<Zero> zeros;
    std::vector<std::shared_ptr<Store>> stores;
    for (int chunk = 0; chunk < pp; ++chunk) {
      zeros.emplace_back(chunks.parameters(chunk), chunks.workers(chunk), ZeroOptions{.stage = 1});
      stores.push_back(zeros.back().store());
    }
    const auto begin = [&](std::int64_t i) {
      for (Zero& zero : zeros)
        for (std::int64_t k = said * i; k < said * (i + 1); ++k) zero.begin(k, said * kMicroBatches);
    };
    if (said == 2) {
      EXPECT_TRUE(compare_runs(in_runs(pp, 2, model, begin, *several(stores)), alone(twice)));
    } else {
      EXPECT_ERROR(in_runs(pp, 2, model, begin, *several(stores)), "Zero: a pipeline comes to part.",
                   "again, after 4 passes of its earlier runs", "or make StageZeros of the model");
    }
  }
}

TEST(Ways, BringAVectorToAStageOnce) {
  if (Runtime::size() != 2) return;
  Counters::instance().reset();
  piped(ways().at("one vector to several stages, twice to one"), "gpipe", 2,
        parts_on(2, {0, 1}, {0, 0, 1, 1}));
  // The first stage's two results, and their gradients, of which the second stage has two uses of one.
  EXPECT_EQ(Counters::instance().by_operation()["SendRecv"].messages, 2 * kMicroBatches);
}

/// What two chunks of one worker have computed is put together between modules, where nothing is cut: all
/// workers say so, those of other stages too, before they would wait for each other.
TEST(Ways, MayNotMixChunksBetweenModules) {
  const auto at_the_end = [](Parts& p, const Vector& x) {
    const Vector first = p[0](x);
    return p[3](p[2](p[1](first))) + first;
  };
  const auto for_a_module = [](Parts& p, const Vector& x) {
    const Vector first = p[0](x), last = p[2](p[1](first));
    return p[3](gelu(last * first));
  };
  EXPECT_ERROR(piped(at_the_end, "zb_v", 1, parts_on(1, {0, 0}, {0, 0, 1, 1})),
               "between modules, in chunk 1, from what", "in chunk 0");
  if (Runtime::size() % 2 != 0) return;
  EXPECT_ERROR(piped(at_the_end, "zb_v", 2, parts_on(2, {0, 1, 1, 0}, {0, 1, 2, 3})),
               "micro-batch 0: a vector", "between modules, in chunk 3, from what was computed in chunk 0");
  EXPECT_ERROR(piped(for_a_module, "zb_v", 2, parts_on(2, {0, 1, 1, 0}, {0, 1, 3, 3})), "between modules");
}

/// Two chunks on one worker, of which the later takes what the earlier has computed.
TEST(Ways, LeadBackToTheFirstWorker) {
  if (Runtime::size() != 2 && Runtime::size() != 4) return;
  for (const auto& [name, way] : ways()) {
    if (name == "rounds by the data") continue;
    SCOPED_TRACE(name);
    EXPECT_TRUE(compare_runs(piped(way, "zb_v", 2, parts_on(2, {0, 1, 1, 0}, {0, 1, 2, 3})), alone(way)));
  }
}

/// Rows of a table, whose terms are added up on their way to a part on the stage after it.
class RowsAndPart : public Layer<RowsAndPart> {
 public:
  explicit RowsAndPart(const ModelSpaces& spaces) : Layer("", spaces) {}
  Vector forward(const Vector& ids) { return part_(rows_(ids)); }
  std::string describe() const override { return "rows and a part"; }

 private:
  Space ids() const { return spaces_of("rows").stream("b"); }
  Space table() const { return spaces_of("rows").weight("bv,vc->bc"); }
  Space terms() const {
    const Space Y = spaces_of("rows").stream("bc");
    return Y.partition().extent("tp") > 1 ? Y.partial("tp") : Y;
  }
  Embedding rows_{{*this, "rows"}, ids(), table(), terms(), Initial::normal(1)};
  Part part_{{*this, "part"}};
};

/// What an embedding gives is what crosses: its gradient comes back, also to the last of several workers,
/// which has no row of the table.
TEST(Ways, LeadFromATableStraightToTheNextStage) {
  if (Runtime::size() % 2 != 0) return;
  const int workers = Runtime::size() / 2, rows = workers == 1 ? 7 : workers - 1;
  Roles letters = roles();
  letters['v'] = {Role::vocabulary, rows};
  const Partition mesh = Partition::world().grid({{"pp", 2}, {"dp", 1}, {"tp", workers}});
  const Stages stages({spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))}, letters,
                      {{"part", 1}});
  const auto gradients = [&](const ModelSpaces& spaces, const Partition& all, bool by_pipeline) {
    RowsAndPart model(spaces);
    model.initialise(3, at::kDouble);
    const auto loss = [&](std::int64_t i) {
      const at::Tensor ids = at::arange(3, at::kLong).add(2 * i).remainder(rows);
      return sum(gelu(model(distribute(spaces.stream("b").with_shape({3}), ids))), {}, {.all_reduce = true});
    };
    if (by_pipeline) {
      Pipeline(model, make_schedule("one_f_one_b", {.stages = 2, .micro_batches = 3})).train(loss);
    } else {
      for (int i = 0; i < 3; ++i) {
        const Chain chain;
        backward(loss(i));
      }
    }
    TrainingRun run;
    for (const Parameter& parameter : model.parameters()) {
      run.initial[parameter.name()] = known_to_all(all, parameter.get());
      run.results[parameter.name()] = known_to_all(all, parameter.gradient());
    }
    return run;
  };
  const Partition one = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  const TrainingRun reference = gradients(ModelSpaces(spaces::one_d(one), letters), one, false);
  EXPECT_TRUE(compare_runs(gradients(stages, Partition::world(), true), reference));
  EXPECT_TRUE(compare_runs(gradients(stages, Partition::world(), false), reference));  // one after another
}

}  // namespace
}  // namespace riesz::testing
