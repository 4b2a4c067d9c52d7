// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Gradients that stay each worker's own: 1-bit Adam beside Zero, and the loss's scale.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/accumulate.h>
#include <gtest/gtest.h>

#include <limits>

#include "riesz/comm/runtime.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/testing/error.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// Before and after the freeze; from then on a step sends signs, and in stage 1 the new values.
TEST(Unreduced, MomentaAreAveragedAlikeInStages0And1) {
  for (const Partition& mesh : dp_tp_meshes()) {
    for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
      SCOPED_TRACE(::testing::Message() << to_string(mesh) << " in " << type);
      Course course{.steps = 6, .micro_batches = 2, .type = type};
      course.optimizer = [&](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
        return std::make_unique<OneBitAdam>(std::move(store), mesh.along("dp"),
                                            OneBitAdamOptions{.epsilon = 1e-6, .freeze_step = 3});
      };
      const Layout spaces = spaces::one_d(mesh);
      course.zero = ZeroOptions{.stage = 0, .bucket = 3000};
      const TrainingRun reference = train(course, spaces);
      course.zero = ZeroOptions{.stage = 1, .bucket = 3000};
      expect_same_bits(train(course, spaces), reference);
    }
  }
}

TEST(Unreduced, MomentaAreWholeAndVariancesParts) {
  if (Runtime::size() == 1) return;
  const Partition mesh = data_parallel();
  Course course;
  std::int64_t errors[2], all = 0, mine = 0;
  for (const int stage : {0, 1}) {
    models::MinGpt model(spaces::one_d(mesh), course.config);
    model.initialise(7, at::kFloat);
    Zero zero(model.parameters(), {.stage = stage});
    const OneBitAdam optimizer(zero.store(), mesh.along("dp"));
    all = mine = 0;
    for (const Share& share : zero.store()->shares()) {
      all += c10::multiply_integers(share.parameter.space().local_shape());
      mine += share.value.numel();
    }
    errors[stage] =
        optimizer.bytes() - (stage == 0 ? 8 * all : 4 * (all + 2 * mine) + all);  // a flag is a byte
  }
  EXPECT_LT(mine, all);
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(Unreduced, GradientsAreAskedForAfterTheFreeze) {
  if (Runtime::size() == 1) return;
  const Partition mesh = data_parallel();
  Course course;
  models::MinGpt model(spaces::one_d(mesh), course.config);
  model.initialise(7, at::kDouble);
  {
    Zero zero(model.parameters(), {.stage = 2});
    EXPECT_ERROR(OneBitAdam(zero.store(), mesh.along("dp")), "gradients do not lie whole", "stage 0 or 1");
  }
  for (const int stage : {0, 1}) {
    models::MinGpt other(spaces::one_d(mesh), course.config);
    other.initialise(7, at::kDouble);
    Zero zero(other.parameters(), {.stage = stage});
    OneBitAdam optimizer(zero.store(), mesh.along("dp"), {.freeze_step = 1});
    optimizer.step();
    optimizer.zero_gradients();
    accumulate(course, other, &zero, 0);
    EXPECT_ERROR(optimizer.step(), "step 2 takes each worker's own terms", "reduced to the sum",
                 "wants_reduced_gradients");
    EXPECT_ERROR(zero.set_reducing(false), "said between steps");
    optimizer.zero_gradients();
    zero.set_reducing(false);
    accumulate(course, other, &zero, 0);
    EXPECT_ERROR(clip_gradients(*zero.store(), 1), "each worker's own terms, not reduced");
    AdamW adam(zero.store());
    EXPECT_ERROR(adam.step(), "AdamW: step 1 takes gradients summed");
    optimizer.step();
    optimizer.zero_gradients();
  }
}

/// A 1-bit Adam over Zero, and what it keeps.
struct Frozen {
  explicit Frozen(int stage)
      : model(spaces::one_d(data_parallel()), course.config), zero(initialised(), {.stage = stage}) {
    anew();
  }

  std::vector<Parameter> initialised() {
    model.initialise(7, at::kDouble);
    return model.parameters();
  }
  void anew() {
    optimizer = std::make_unique<OneBitAdam>(zero.store(), data_parallel().along("dp"),
                                             OneBitAdamOptions{.freeze_step = 2});
  }
  void step(int number, bool backward = true) {
    zero.set_reducing(optimizer->wants_reduced_gradients());
    if (backward) accumulate(course, model, &zero, number);
    optimizer->step();
    optimizer->zero_gradients();
  }

  SavedState saved() const { return {data_parallel(), optimizer->state()}; }
  void load(const SavedState& from) { from.load(optimizer->state()); }
  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> tensors;
    for (const StateView& view : optimizer->state()) tensors.push_back(view.tensor.clone());
    return tensors;
  }

  Course course;
  models::MinGpt model;
  Zero zero;
  std::unique_ptr<OneBitAdam> optimizer;
};

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

/// Before the freeze and after it, by the same optimizer and by another.
TEST(Unreduced, OneBitAdamGoesOnFromWhatItKept) {
  for (const int stage : {0, 1}) {
    for (const int at : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " from step " << at);
      Frozen run(stage);
      for (int step = 0; step < at; ++step) run.step(step);
      const SavedState begin = run.saved();
      for (int step = at; step < 5; ++step) run.step(step);
      const auto end = run.all();
      for (const bool another : {false, true}) {
        if (another) run.anew();
        run.load(begin);
        for (int step = at; step < 5; ++step) run.step(step);
        expect_same(run.all(), end);
      }
    }
  }
}

/// A step that nothing comes in moves by what was before alone, in both stages alike.
TEST(Unreduced, AStepWithoutABackwardHasNoTerms) {
  std::vector<at::Tensor> values;
  for (const int stage : {0, 1}) {
    Frozen run(stage);
    for (int step = 0; step < 3; ++step) run.step(step);
    run.zero.set_reducing(false);
    for (const Share& share : run.zero.store()->shares())
      EXPECT_TRUE(at::equal(share.term, at::zeros_like(share.term))) << share.parameter.name();
    run.step(3, false);
    const at::NoGradGuard no_gradient;
    const at::Tensor now = run.model.parameters().back().value().local().clone();
    values.push_back(now);
  }
  EXPECT_TRUE(at::equal(values[0], values[1]));
}

/// This worker's own, wherever its values' part lies.
TEST(Unreduced, AParametersGradientIsTheWorkersOwn) {
  std::vector<at::Tensor> gradients;
  for (const int stage : {0, 1}) {
    Frozen run(stage);
    run.zero.set_reducing(false);
    accumulate(run.course, run.model, &run.zero, 0);
    gradients.push_back(run.model.parameters().front().gradient().local().clone());
    run.zero.store()->zero_gradients();
  }
  EXPECT_TRUE(at::equal(gradients[0], gradients[1]));
}

/// All of them are brought back, and looked at, not the share's part alone.
TEST(Unreduced, GradientsAreUnscaled) {
  const Partition mesh = data_parallel();
  Course course;
  for (const bool broken : {false, true}) {
    models::MinGpt fresh(spaces::one_d(mesh), course.config);
    fresh.initialise(7, at::kDouble);
    Zero zero(fresh.parameters(), {.stage = 1});
    zero.set_reducing(false);
    accumulate(course, fresh, &zero, 0);
    for (const Share& share : zero.store()->shares()) share.term.fill_(8);
    const bool last = Runtime::rank() == Runtime::size() - 1;
    if (broken && last) zero.store()->shares().front().term[0] = std::numeric_limits<double>::infinity();
    LossScale scale(LossScaleOptions{.initial = 4});
    EXPECT_EQ(scale.unscale(*zero.store()), !broken);
    for (const Share& share : zero.store()->shares()) {
      const at::Tensor expected = at::full_like(share.term, broken ? 8 : 2);
      if (broken && last && share.parameter.name() == fresh.parameters().front().name())
        expected[0] = std::numeric_limits<double>::infinity();
      EXPECT_TRUE(at::equal(share.term, expected)) << share.parameter.name();
    }
    zero.store()->zero_gradients();
  }
}

}  // namespace
}  // namespace riesz::testing
