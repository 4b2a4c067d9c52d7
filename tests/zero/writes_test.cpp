// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What is written to a value in place is trained on, or is an error; it is not lost.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// Two units, taken over.
struct Kept {
  Kept(int stage, at::ScalarType type) : zero(made(type), {.stage = stage, .bucket = 1, .keep = 0}) {}

  const std::vector<Parameter>& made(at::ScalarType type) {
    for (const char* name : {"a.weight", "b.weight"}) {
      parameters.emplace_back(name, Space(data_parallel(), {5, 3}), ParameterOptions{Initial::ones()});
      parameters.back().initialise(1, type);
    }
    return parameters;
  }

  std::vector<Parameter> parameters;
  Zero zero;
};

TEST(Writes, AreTrainedOnWhereValuesAreWhole) {
  for (const int stage : {0, 1, 2}) {
    Kept kept(stage, at::kDouble);
    SGD optimizer(kept.zero.store(), {.learning_rate = 0.5});
    const at::NoGradGuard no_gradient;
    const at::Tensor value = kept.parameters[0].value().local();
    value.fill_(7);
    for (const Share& share : kept.zero.store()->shares()) share.gradient.fill_(2);
    optimizer.step();
    const at::Tensor now = kept.parameters[0].value().local().detach();
    EXPECT_SAME_BITS(now, at::full_like(now, 6)) << stage;
  }
}

TEST(Writes, AreErrorsWhereTheyWouldBeLost) {
  const at::NoGradGuard no_gradient;
  for (const at::ScalarType type : {at::kDouble, at::kBFloat16}) {
    for (const int stage : {0, 1, 2, 3}) {
      if (type == at::kDouble && stage < 3) continue;
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " in " << type);
      Kept kept(stage, type);
      SGD optimizer(kept.zero.store());
      kept.parameters[0].value().local().fill_(7);
      kept.parameters[1].value();  // in stage 3 the other's memory goes
      const char* why = stage == 3 ? "gathered copies of what is trained" : "cast from fp32 masters";
      EXPECT_ERROR(kept.parameters[0].value(), "the value of a.weight was written in place", why);
      EXPECT_ERROR(optimizer.step(), "the value of a.weight was written in place", why);
    }
  }
}

/// By Parameter::set, wherever values lie: it is read, trained on, and half values' masters follow.
TEST(Writes, BySetAreReadAndTrainedOnAtEveryStage) {
  const at::NoGradGuard no_gradient;
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    for (const int stage : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " in " << type);
      Kept kept(stage, type);
      SGD optimizer(kept.zero.store(), {.learning_rate = 0.5});
      const at::Tensor global = at::arange(15, at::kDouble).view({5, 3});
      kept.parameters[0].set(global);
      kept.parameters[1].value();  // in stage 3 the other's memory goes
      EXPECT_TRUE(at::equal(kept.parameters[0].get().local(), global.to(type)));
      kept.parameters[0].fill([&](const at::Tensor& part) {  // while it is here
        part.copy_(global.add(1).view({-1}));
      });
      for (const Share& share : kept.zero.store()->shares()) share.gradient.fill_(2);
      optimizer.step();
      EXPECT_TRUE(at::equal(kept.parameters[0].get().local(), global.to(type)));
      EXPECT_TRUE(kept.parameters[1].get().local().eq(0).all().item<bool>());
      kept.parameters[0].set(global.add(0.001));  // after a step, whose values are on their way
      EXPECT_TRUE(at::equal(kept.parameters[0].get().local(), global.add(0.001).to(type)));
      for (const Share& share : kept.zero.store()->shares()) {
        if (share.parameter.name() != "a.weight" || type != at::kBFloat16) continue;
        const at::Tensor master = global.add(0.001).view({-1}).narrow(0, share.begin, share.value.numel());
        EXPECT_TRUE(at::equal(share.value, master.to(at::kFloat))) << "the master is not rounded to bf16";
      }
    }
  }
}

/// A frozen parameter is left out: nothing of it is summed, gathered or stepped.
TEST(Writes, ToAFrozenParameterComeFromSetAlone) {
  std::vector<Parameter> all;
  for (const char* name : {"a.weight", "b.weight"}) {
    all.emplace_back(name, Space(data_parallel(), {5, 3}), ParameterOptions{Initial::ones(), true});
    all.back().initialise(1, at::kDouble);
  }
  all[0].freeze();
  const Zero of_frozen(std::vector<Parameter>{all[0]});
  EXPECT_TRUE(of_frozen.store()->shares().empty());
  EXPECT_TRUE(of_frozen.store()->partition() == data_parallel());
  Zero zero(all, {.stage = 1});
  SGD optimizer(zero.store(), {.learning_rate = 0.5, .weight_decay = 0.1});
  EXPECT_EQ(zero.store()->shares().size(), 1U);
  EXPECT_ERROR(all[1].freeze(), "Parameter b.weight is kept elsewhere already", "freeze it before");

  const Space X = Space(data_parallel(), {4, 3}).sharded(0, "dp"),
              Y = Space(data_parallel(), {4, 5}).sharded(0, "dp");
  const auto step = [&] {
    Chain chain;
    const Vector x(X, at::ones(X.local_shape(), at::kDouble).requires_grad_());
    const Vector y =
        contract("bi,oi->bo", x, all[0].value(), Y) + contract("bi,oi->bo", x, all[1].value(), Y);
    backward(contract("bo,bo->", y, y, Space(data_parallel(), {})));
    EXPECT_TRUE(x.local().grad().defined());
  };
  Counters::instance().reset();
  step();
  optimizer.step();
  const std::int64_t both = 15;
  const Traffic sent = Counters::instance().total();
  EXPECT_TRUE(all[0].get().local().eq(1).all().item<bool>());
  EXPECT_FALSE(all[1].get().local().eq(1).any().item<bool>());
  EXPECT_LE(sent.elements, 2 * both + 2 * Runtime::size()) << "one weight's, and the loss's";
}

TEST(Writes, NeedAValueThatIsHere) {
  if (Runtime::size() == 1) return;
  const at::NoGradGuard no_gradient;
  Kept kept(3, at::kDouble);
  EXPECT_ERROR(kept.parameters[0].leaf().fill_(7), "Parameter a.weight", "nothing to read or to write");
  kept.parameters[0].value();
  EXPECT_TRUE(kept.parameters[0].leaf().eq(1).all().item<bool>());
}

/// As RIESZ_CHECK=1 asks for: when Zero takes replicas, and in stage 0 after each step.
TEST(Writes, ThatPartReplicasAreFoundWhereWorkersCompare) {
  if (Runtime::size() == 1) return;
  const bool asked = consistency_checks();
  const at::NoGradGuard no_gradient;
  const auto write = [](const Parameter& parameter) {
    if (Runtime::rank() + 1 == Runtime::size()) parameter.value().local()[4][2] = 2;
  };
  const std::string last = "and rank " + std::to_string(Runtime::size() - 1) + " has 2 at (4, 2)";
  Kept kept(0, at::kDouble);
  SGD optimizer(kept.zero.store(), {.learning_rate = 0.5});
  Parameter own("own.weight", Space(data_parallel(), {5, 3}), {Initial::ones()});
  own.initialise(1, at::kDouble);
  set_consistency_checks(true);
  EXPECT_NO_THROW(optimizer.step());

  write(kept.parameters[1]);
  write(own);

  EXPECT_ERROR(optimizer.step(), "the parameter b.weight is Replicated on axis dp, in",
               "rank 0 has 1 at (4, 2)", last);
  EXPECT_ERROR(Zero({own}, {.stage = 2}), "the parameter own.weight is Replicated on axis dp, in", last);
  set_consistency_checks(asked);
}

/// It would leave out the messages that the others wait for.
TEST(Writes, AWeightThatOneWorkerFreezesAloneIsNamedOnAllWhereWorkersCompare) {
  if (Runtime::size() == 1) return;
  const bool asked = consistency_checks();
  std::vector<Parameter> parameters;
  for (const char* name : {"a.weight", "b.weight", "c.weight"}) {
    parameters.emplace_back(name, Space(data_parallel(), {5, 3}), ParameterOptions{Initial::ones()});
    parameters.back().initialise(1, at::kDouble);
  }
  parameters[0].freeze();
  if (Runtime::rank() + 1 == Runtime::size()) parameters[1].freeze();
  const std::string who = "b.weight is trained on rank 0 of " + to_string(data_parallel()) +
                          " and frozen on rank " + std::to_string(Runtime::size() - 1);

  set_consistency_checks(true);
  EXPECT_ERROR(Zero(parameters, {.stage = 2}), "Zero: " + who, "freeze the same parameters on all workers");
  EXPECT_ERROR(whole(parameters), "whole: " + who, "freeze the same parameters on all workers");
  std::vector<Parameter> fewer = parameters;
  if (Runtime::rank() + 1 == Runtime::size()) fewer.pop_back();
  EXPECT_ERROR(whole(fewer), "gives it 3 parameters and rank " + std::to_string(Runtime::size() - 1) + " 2");
  std::vector<Parameter> more = parameters;
  if (Runtime::rank() + 1 == Runtime::size()) more.insert(more.end(), parameters.begin(), parameters.end());
  EXPECT_ERROR(whole(more), "gives it 3 parameters and rank " + std::to_string(Runtime::size() - 1) + " 6");
  parameters[1].freeze();
  EXPECT_NO_THROW(whole(parameters));
  set_consistency_checks(asked);
}

}  // namespace
}  // namespace riesz::testing
