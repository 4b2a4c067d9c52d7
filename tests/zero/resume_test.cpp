// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training that goes on from a saved state is the one that was not interrupted: by every optimizer, with
// the loss's scale, at any layout, stage and number of stores.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/optim/untrained.h"
#include "riesz/partition/pairing.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// Of workers that share out the batch.
using MakeOn = std::function<std::unique_ptr<Optimizer>(std::shared_ptr<Store>, const Partition& mesh)>;

std::vector<std::pair<std::string, MakeOn>> optimizers() {
  const auto one_bit = [](auto store, const Partition& mesh) {
    return std::make_unique<OneBitAdam>(store, mesh.along("dp"),
                                        OneBitAdamOptions{.epsilon = 1e-6, .freeze_step = 1});
  };
  std::vector<std::pair<std::string, MakeOn>> all;
  for (const auto& [name, make] : some_optimizers())
    all.emplace_back(name, [make = make](auto store, const Partition&) { return make(store); });
  all.emplace_back("Adam", [](auto store, const Partition&) {
    return std::make_unique<Adam>(store, AdamOptions{.epsilon = 1e-6});
  });
  all.emplace_back("OneBitAdam", one_bit);
  return all;
}

/// A small model in training, its parameters shared out among some stores.
struct Trainee {
  Trainee(const Partition& mesh, int stage, const MakeOn& make, at::ScalarType type, std::size_t stores = 1,
          std::size_t frozen = 0)
      : course{.type = type}, model(spaces::one_d(mesh), small(course)) {
    model.initialise(7 + static_cast<std::uint64_t>(stage), type);
    std::vector<Parameter> all = model.parameters();
    for (std::size_t i = 0; i < frozen; ++i) all[i].freeze();
    for (std::size_t s = 0; s < stores; ++s) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(s * all.size() / stores);
      const auto to = all.begin() + static_cast<std::ptrdiff_t>((s + 1) * all.size() / stores);
      const ZeroOptions options{.stage = stage, .bucket = 1000, .keep = 50};
      zeros.push_back(std::make_unique<Zero>(std::vector<Parameter>(from, to), options));
      optimizers.push_back(make(zeros.back()->store(), mesh));
    }
  }
  static const models::MinGptConfig& small(Course& course) {
    course.config.layers = 1;
    return course.config;
  }

  void steps(int from, int to) {
    for (int step = from; step < to; ++step) {
      if (zeros.front()->store()->holds() != Holds::parts)
        zeros.front()->set_reducing(optimizers.front()->wants_reduced_gradients());
      const bool half = course.type == at::kHalf;
      course.scale = half ? scale.value() : 1;
      accumulate(course, model, nullptr, step);
      for (const auto& optimizer : optimizers) {
        const bool rests = rare && optimizer != optimizers.front() && step % 2 == 0;
        if (!rests && (!half || scale.unscale(*optimizer->store()))) optimizer->step();
        optimizer->zero_gradients();
      }
    }
  }

  State state() {
    State all = scale.state(model.parameters().front().space().partition());
    for (const auto& optimizer : optimizers) {
      for (StateView& view : optimizer->state()) all.push_back(std::move(view));
    }
    return all;
  }
  SavedState saved() { return {Partition::world(), state()}; }
  void load(const SavedState& from) { from.load(state()); }

  Course course;
  models::MinGpt model;
  std::vector<std::unique_ptr<Zero>> zeros;
  std::vector<std::unique_ptr<Optimizer>> optimizers;
  bool rare = false;  ///< do all optimizers but the first go a step only at every second one?
  LossScale scale{{.initial = 1e9, .factor = 512, .window = 2, .hysteresis = 1}};  // fp16 overflows at first
};

void expect_same_state(const State& a, const State& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].key << " of " << a[i].name;
}

/// What was saved, whole on this worker.
State whole_of(const SavedState& saved, Trainee& alone) {
  alone.load(saved);
  return alone.state();
}

/// A stage that the optimizer has, each in turns.
int stage_of(std::size_t turn, const std::string& optimizer) {
  return static_cast<int>(turn % (optimizer == "OneBitAdam" ? 2 : 4));
}

/// By what was made anew with other weights, at the same layout: what it goes on from, and so all else.
TEST(Resume, GivesTheSameBitsAtTheSameLayout) {
  std::size_t turn = 0;
  for (const auto& [name, make] : optimizers()) {
    for (const at::ScalarType type : {at::kHalf, at::kFloat}) {
      const Partition mesh = dp_tp_meshes().back();
      const int stage = stage_of(turn / 2 + turn % 2, name);
      if (turn++ % 2 == 1 && Runtime::size() > 4) continue;
      SCOPED_TRACE(::testing::Message() << name << " in " << type << ", stage " << stage);
      Trainee one(mesh, stage, make, type);
      one.steps(0, 3);
      const SavedState saved = one.saved();
      one.steps(3, 5);
      Trainee other(mesh, stage, make, type);
      other.steps(0, 1);
      other.load(saved);
      EXPECT_EQ(other.optimizers.front()->steps() + other.scale.skipped(), 3);
      other.steps(3, 5);
      expect_same_state(other.state(), one.state());
    }
  }
}

/// At other grids and stages what is loaded is what was saved, bit for bit, in halves with their masters; and
/// in fp64 the weights after more steps are those of the training that went on.
TEST(Resume, GoesOnAtAnotherLayoutAndStage) {
  std::size_t turn = 0;
  for (const auto& [name, make] : optimizers()) {
    if (name == "OneBitAdam") continue;  // what it has not sent yet is each worker's own
    for (const at::ScalarType type : {at::kHalf, at::kDouble}) {
      const int stage = stage_of(++turn, name);
      if (Runtime::size() > 4 && turn % 3 != 0) continue;
      Trainee alone(one_worker(), 0, make, type), again(one_worker(), 0, make, type);
      Trainee one(dp_tp_meshes().front(), stage, make, type);
      one.steps(0, 2);
      const SavedState saved = one.saved();
      TrainingRun run, reference;
      reference.add_initial(one.model);
      for (const int step : {1, 2}) {
        const int next = stage_of(static_cast<std::size_t>(stage + step), name);
        SCOPED_TRACE(::testing::Message() << name << " in " << type << ", stage " << stage << " to " << next);
        Trainee other(dp_tp_meshes().back(), next, make, type);
        other.load(saved);
        expect_same_state(whole_of(other.saved(), again), whole_of(saved, alone));
        if (type == at::kHalf || step == 2) continue;
        run.add_initial(other.model);
        other.steps(2, 4);
        one.steps(2, 4);
        run.add_weights(other.model);
        reference.add_weights(one.model);
        EXPECT_TRUE(compare_runs(run, reference));
      }
    }
  }
}

/// One store's state goes into several, and theirs into one.
TEST(Resume, GoesOnWithAnotherNumberOfStores) {
  const MakeOn make = [](auto store, const Partition&) { return std::make_unique<AdamW>(store); };
  const Partition mesh = dp_tp_meshes().back();
  Trainee one(mesh, 2, make, at::kDouble), three(mesh, 3, make, at::kDouble, 3),
      last(mesh, 1, make, at::kDouble);
  TrainingRun run, reference;
  one.steps(0, 2);
  three.load(one.saved());
  reference.add_initial(one.model);
  run.add_initial(three.model);
  one.steps(2, 4);
  three.steps(2, 4);
  last.load(three.saved());
  run.add_weights(last.model);
  reference.add_weights(one.model);
  EXPECT_TRUE(compare_runs(run, reference));
}

/// Two that have gone different numbers of steps are saved together, and go on so at another layout and
/// stage.
TEST(Resume, GoesOnWithTwoOptimizersOfDifferentSteps) {
  const MakeOn make = [](auto store, const Partition&) { return std::make_unique<AdamW>(store); };
  const Partition mesh = dp_tp_meshes().back();
  Trainee two(mesh, 3, make, at::kDouble, 2), other(dp_tp_meshes().front(), 1, make, at::kDouble, 2),
      joined(mesh, 1, make, at::kDouble);
  two.rare = other.rare = true;
  TrainingRun run, reference;
  two.steps(0, 3);
  const SavedState saved = two.saved();
  other.load(saved);
  EXPECT_EQ(other.optimizers.front()->steps(), 3);
  EXPECT_EQ(other.optimizers.back()->steps(), 1);
  reference.add_initial(two.model);
  run.add_initial(other.model);
  two.steps(3, 5);
  other.steps(3, 5);
  run.add_weights(other.model);
  reference.add_weights(two.model);
  EXPECT_TRUE(compare_runs(run, reference));
  EXPECT_ERROR(joined.load(saved), "has gone 3 steps with transformer.wte.weight and 1 with",
               "an optimizer of their own");
}

/// A whole model with a frozen part and a buffer, at other grids: the same bits.
TEST(Resume, TakesAlongWhatIsNotTrained) {
  const auto all_of = [](const Trainee& one, const Parameter& buffer) {
    std::vector<Parameter> all = one.model.parameters();
    all.push_back(buffer);
    return all;
  };
  const auto state_of = [&](Trainee& one, const std::vector<Parameter>& all) {
    State state = one.state();
    for (StateView& view : untrained_state(all)) state.push_back(std::move(view));
    return state;
  };
  const MakeOn make = [](auto store, const Partition&) { return std::make_unique<SGD>(store); };
  const auto buffer_on = [](const Partition& mesh, std::uint64_t seed) {
    Parameter buffer("mean", Space(mesh, {5, 7}).sharded(1, mesh.axes().back().name),
                     {.initial = Initial::normal(1), .trained = false});
    buffer.initialise(seed, at::kFloat);
    return buffer;
  };
  const auto meant_by = [](const Parameter& parameter) { return meant(parameter.get()); };
  const std::vector<Partition> meshes = dp_tp_meshes();
  Trainee one(meshes.front(), 3, make, at::kFloat, 1, 2), other(meshes.back(), 2, make, at::kFloat, 1, 2);
  const std::vector<Parameter> from = all_of(one, buffer_on(meshes.front(), 1));
  const std::vector<Parameter> to = all_of(other, buffer_on(meshes.back(), 2));
  EXPECT_EQ(untrained_state(from).size(), 3u);
  EXPECT_FALSE(at::equal(meant_by(from.back()), meant_by(to.back())));

  const SavedState saved(Partition::world(), state_of(one, from));
  saved.load(state_of(other, to));

  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_SAME_BITS(meant_by(to[i]), meant_by(from[i]));
}

/// Each worker keeps what it counts: together what one worker's training holds.
TEST(Resume, SavesEachElementOnce) {
  const MakeOn make = [](auto store, const Partition&) { return std::make_unique<AdamW>(store); };
  Trainee alone(one_worker(), 0, make, at::kDouble);
  for (const Partition& mesh : dp_tp_meshes()) {
    for (const int stage : {0, 1, 2, 3}) {
      Trainee one(mesh, stage, make, at::kDouble);
      std::int64_t n = 0, parameters = 0;
      for (const Parameter& parameter : one.model.parameters()) n += 8 * parameter.numel(), ++parameters;
      const at::Tensor mine = at::full({}, one.saved().bytes(), at::kLong);
      std::int64_t all = 0;
      for (const at::Tensor& theirs : collect("testing", mesh, mine)) all += theirs.item<std::int64_t>();
      EXPECT_EQ(all, 3 * n + 8 * parameters + 8 * 4)
          << "and each one's steps, and four numbers of the scale; stage " << stage;
    }
  }
}

TEST(Resume, RefusesTwoOfOneNameThatDiffer) {
  const Partition P = Partition::world();
  std::int64_t one = 3, other = 4;
  State both{view_of("a", "steps", P, one), view_of("a", "steps", P, other)};
  if (Runtime::rank() == 0) {
    EXPECT_ERROR(SavedState(P, both), "two have steps of a; give each a SavedState or folder of its own");
  }
  both[1].counted = false;  // as of a copy in another store of `several`
  EXPECT_EQ(SavedState(P, both).bytes(), Runtime::rank() == 0 ? 8 : 0);

  const at::Tensor all = at::full({4}, 1, at::kDouble);  // beside one that has none of it
  const Space X(P, {4});
  const State with_none{{"b", "value", X, {0, 0}, true, all.narrow(0, 0, 0)},
                        {"b", "value", X, {0, 4}, true, all}};
  EXPECT_EQ(SavedState(P, with_none).bytes(), 32);
}

TEST(Resume, SaysWhatDoesNotFit) {
  const MakeOn sgd = [](auto store, const Partition&) { return std::make_unique<SGD>(store); };
  const MakeOn adam = [](auto store, const Partition&) { return std::make_unique<AdamW>(store); };
  Trainee one(data_parallel(), 1, sgd, at::kFloat), other(data_parallel(), 3, adam, at::kFloat),
      half(data_parallel(), 2, sgd, at::kHalf);
  const auto before = other.model.parameters().front().get().local();
  EXPECT_ERROR(other.load(one.saved()), "SavedState: no first of lm_head.weight",
               "the same parameters, optimizer");
  EXPECT_TRUE(at::equal(other.model.parameters().front().get().local(), before));
  EXPECT_ERROR(half.load(one.saved()), "SavedState: no master of");
  EXPECT_ERROR(one.load(half.saved()), "SavedState: the value of", "of type Float", "of type Half");
  if (Runtime::size() == 1) return;
  State parts = one.state();
  for (StateView& view : parts) {
    if (Runtime::rank() + 1 == Runtime::size()) view.counted = false;
  }
  EXPECT_ERROR(SavedState(data_parallel(), parts).load(one.state()), "were saved of");
}

}  // namespace
}  // namespace riesz::testing
