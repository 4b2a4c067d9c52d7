// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Steps that are given up, read in between, not reduced, or gone back through twice.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "layers.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/recompute/recompute.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/team.h"
#include "riesz/zero/units.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

TEST(Steps, MayBeGivenUp) {
  for (const int stage : {0, 1, 2}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    for (int step = 0; step < 20; ++step) {
      Chain chain;
      Vector y = layers.a(input(layers));
      if ((Runtime::rank() + step) % 2 == 0) y = layers.b(y);
      backward(loss_of(layers.c(y)));
      zero.store()->zero_gradients();
    }
    for (const Share& share : zero.store()->shares()) EXPECT_TRUE(share.gradient.eq(0).all().item<bool>());
  }
}

/// Reading a gradient between micro-batches changes none of the step's, and says what came so far, also of
/// what is no pass's.
TEST(Steps, MayBeReadBetweenMicroBatches) {
  std::map<std::int64_t, at::Tensor> so_far;  // by micro-batch
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    const Parameter first_one = layers.parameters().front();
    std::map<std::string, at::Tensor> unread;
    for (const bool read : {false, true}) {
      first_one.expect_gradient();
      for (std::int64_t i = 0; i < 3; ++i) {
        zero.begin(i, 3);
        Chain chain;
        backward(loss_of(i < 2 ? layers.c(layers.a(input(layers))) : layers.b(input(layers))));
        if (i == 1) first_one.leave_gradient(at::ones(first_one.space().local_shape(), at::kDouble));
        if (!read) continue;
        const at::Tensor now = first_one.gradient().local().clone();
        const at::Tensor& then = so_far.emplace(i, now).first->second;
        EXPECT_LE(now.sub(then).abs().max().item<double>(), 1e-12 * then.abs().max().item<double>()) << i;
      }
      for (const Parameter& parameter : layers.parameters()) {
        const at::Tensor gradient = parameter.gradient().local().clone();
        const auto [found, first] = unread.emplace(parameter.name(), gradient);
        EXPECT_TRUE(first || at::equal(found->second, gradient)) << parameter.name() << " in stage " << stage;
      }
      zero.store()->zero_gradients();
    }
  }
}

/// What is no pass's, between two passes of its layer or after both, is added to theirs.
TEST(Steps, AddWhatIsLeftBetweenMicroBatches) {
  at::Tensor expected;
  for (const int stage : {0, 1, 2, 3}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    const Parameter parameter = layers.parameters().front();
    for (const std::int64_t after : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", after pass " << after);
      parameter.expect_gradient();
      for (std::int64_t i = 0; i < 2; ++i) {
        zero.begin(i, 2);
        Chain chain;
        backward(loss_of(layers.c(layers.b(layers.a(input(layers))))));
        if (i == after) parameter.leave_gradient(at::ones(parameter.space().local_shape(), at::kDouble));
      }
      const at::Tensor sum = parameter.gradient().local().clone();
      if (!expected.defined()) expected = sum;
      EXPECT_LE(sum.sub(expected).abs().max().item<double>(), 1e-12 * expected.abs().max().item<double>());
      zero.store()->zero_gradients();
    }
  }
}

/// A round adds one pass of each worker's, also where the first worker's second pass came while its first
/// waited for room: 1 and 2⁻²⁴ are 1 in fp32, whereas what 1 − ½ and 2⁻²⁴ come to is more than ½.
TEST(Steps, AddPassByPassWhoeverIsLate) {
  if (Runtime::size() == 1) return;
  const int rank = Runtime::rank();
  Layers layers(all_workers(), at::kFloat);
  Zero zero(layers.parameters(), {.stage = 2, .bucket = 1});
  if (rank > 0) wait_for_all(all_workers());
  const double gradients[] = {rank == 0 ? 1 : rank == 1 ? 0x1p-24 : 0, rank == 0 ? -0.5 : 0};
  for (const std::int64_t i : {0, 1}) {
    zero.begin(i, 2);
    Chain chain(static_cast<int>(i));
    const Space X = layers.stream.with_shape({Runtime::size(), kWidth});
    const Vector y = layers.a(Vector(X, at::ones({1, kWidth}, at::kFloat)));
    backward(y, {dual(y.space()), at::full_like(y.local(), gradients[i]).detach()});
  }
  if (rank == 0) wait_for_all(all_workers());
  for (const Share& share : zero.store()->shares()) {
    const bool used = share.parameter.name().starts_with("a.");
    EXPECT_SAME_BITS(share.gradient, at::full_like(share.gradient, used ? 0.5 : 0)) << share.parameter.name();
  }
  zero.store()->zero_gradients();
}

/// When backward comes to the first layer, the sums of those after it are on their way, the last one's first.
TEST(Steps, ReduceWhileBackwardGoesOn) {
  if (Runtime::size() == 1) return;
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1, .keep = 0});
    Counters::instance().record(true);
    std::vector<std::string> begun;
    Chain chain;
    const Vector y = layers.a(input(layers));
    chain.on_backward([&] {
      for (const TrafficRecord& record : Counters::instance().records()) {
        const std::string& what = record.operation;
        if (what.find("Reduce") != std::string::npos && what.find(" of ") != std::string::npos)
          begun.push_back(what.substr(what.find(" of ") + 4, 1));
      }
    });
    backward(loss_of(layers.c(layers.b(y))));
    Counters::instance().record(false);
    // With 2 workers c takes both buffers, which hold half of all, and in stage 2 nobody waits for one.
    const bool both = Runtime::size() == 2 && stage == 2;
    if (both && begun.size() == 2) begun.pop_back();
    EXPECT_EQ(begun, both ? std::vector<std::string>{"c"} : std::vector<std::string>({"c", "b"}));
    zero.store()->zero_gradients();
  }
}

/// A parameter that is left out of a step has no gradient of the step before.
TEST(Steps, MayLeaveUnitsOutWhileNothingIsReduced) {
  const bool has_rows = Split::balanced(kBatch, Runtime::size())[Runtime::rank()].size() > 0;
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 0, .bucket = 1});
  zero.set_reducing(false);
  for (const bool with_a : {true, false}) {
    Chain chain;
    const Vector x = input(layers);
    backward(loss_of(layers.c(with_a ? layers.a(x) : x)));
    EXPECT_EQ(zero.store()->shares().front().gradient.ne(0).any().item<bool>(), with_a && has_rows);
    zero.store()->zero_gradients();
  }
}

/// Gradients that nobody would add any more are an error, not lost.
TEST(Steps, MayNotBeGoneBackThroughTwice) {
  for (const int stage : {0, 1, 2}) {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = stage, .bucket = 1});
    Chain chain;
    const Vector x = input(layers);
    x.local().requires_grad_();
    const Vector loss = loss_of(layers.c(layers.a(x)));
    const Vector one(dual(loss.space()), at::ones_like(loss.local()));
    const Vector xbar = pullback(loss, one, {x}, true).front();
    zero.store()->shares();
    backward(loss_of(Vector(x.space(), xbar.local())));
    EXPECT_ERROR(zero.store()->shares(), "a gradient of a.weight came after the step's were reduced");
    zero.store()->zero_gradients();
  }
}

/// By torch too.
std::string thrown_by(const std::function<void()>& statement) {
  try {
    statement();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

/// Backward would be that of other values than forward's: an error with Zero too, also in a region that is
/// computed again.
TEST(Steps, AreErrorsBetweenForwardAndBackward) {
  for (const int stage : {-1, 0, 1, 2, 3}) {  // −1: without Zero
    for (const bool by_set : {false, true}) {
      for (const bool again : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "stage " << stage << (by_set ? ", set" : ", trained")
                                          << (again ? ", computed again" : ""));
        Layers layers(all_workers());
        std::optional<Zero> zero;
        if (stage >= 0)
          zero.emplace(layers.parameters(), ZeroOptions{.stage = stage, .bucket = 1, .keep = 0});
        SGD optimizer(zero ? zero->store() : whole(layers.parameters()), {.learning_rate = 0.5});
        const auto region = [&](const Vector& x) { return layers.c(layers.b(x)); };
        Chain chain;
        const Vector x = layers.a(input(layers));
        const Vector loss = loss_of(again ? recompute({.name = "the fork"}, region, x) : region(x));
        if (by_set) {
          Parameter(layers.b.weight()).set(at::ones({kWidth, kWidth}, at::kDouble));
        } else {
          optimizer.step();
          optimizer.zero_gradients();
        }
        const std::string why = again ? "was written to in between" : "modified by an inplace operation";
        EXPECT_NE(thrown_by([&] { backward(loss); }).find(why), std::string::npos);
        optimizer.zero_gradients();
        EXPECT_NO_THROW(backward(loss_of(region(layers.a(input(layers))))));
        optimizer.step();
      }
    }
  }
}

/// A reduction that went wrong is an error of the step that it was of, not of all that follow.
TEST(Steps, ThrowOnceWhatWentWrongWithASegment) {
  const int p = Runtime::size();
  if (p == 1) return;
  std::vector<int> workers(static_cast<std::size_t>(p));
  PieceOffsets pieces(workers.size() + 1);
  std::iota(workers.begin(), workers.end(), 0);
  std::iota(pieces.begin(), pieces.end(), 0);
  PassingBuffers passing(workers, p, at::kDouble, at::kCPU);
  const std::string text = "ReduceScatter of " + std::to_string(Runtime::rank());
  passing.take_turn(
      passing.next().reduce_scatter({"ReduceScatter", text}, pieces, at::zeros({1}, at::kDouble)));
  passing.take_turn(nullptr);
  EXPECT_ERROR(passing.free(true), "ReduceScatter of 0");
  EXPECT_TRUE(passing.free(true));
}

/// Units are alike on all workers, also where a parameter's parts are not.
TEST(Units, AreTheSameUnitsOnAllWorkers) {
  const Partition mesh = all_workers();
  std::vector<Parameter> parameters;
  parameters.emplace_back("a.weight", Space(mesh, {2 * Runtime::size() - 1}).sharded(0, "dp"),
                          ParameterOptions{});
  parameters.emplace_back("b.weight", Space(mesh, {4}), ParameterOptions{});
  for (Parameter& parameter : parameters) parameter.initialise(3, at::kDouble);
  const auto units = plan_units(parameters, {"dp"}, 5).units.size();
  EXPECT_EQ(units, Runtime::size() == 1 ? 1 : 2);
}

}  // namespace
}  // namespace riesz::testing
