// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Replicas stay equal bit for bit, and in fp16 a step that overflows is left out by all.
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

std::vector<MakeOptimizer> all_optimizers(const Partition& mesh) {
  return {[](auto store) { return std::make_unique<SGD>(store, SGDOptions{.momentum = 0.9}); },
          [](auto store) { return std::make_unique<Adam>(store); },
          [](auto store) { return std::make_unique<AdamW>(store); },
          [](auto store) { return std::make_unique<Lamb>(store); },
          [](auto store) { return std::make_unique<Adafactor>(store); },
          [fibre = mesh.along("dp")](auto store) {
            return std::make_unique<OneBitAdam>(store, fibre, OneBitAdamOptions{.freeze_step = 1});
          }};
}

/// Each worker puts the weights together from its own replicas, and all get the same bits. Every optimizer,
/// and every stage, comes in both types, each on one mesh; the last optimizer has the first two stages alone.
TEST(Replicas, AreTheSameBits) {
  const std::vector<Partition> meshes = dp_tp_meshes();
  for (std::size_t m = 0; m < meshes.size(); ++m) {
    const Partition& mesh = meshes[m];
    const std::vector<MakeOptimizer> optimizers = all_optimizers(mesh);
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        if ((i / 2 + (type == at::kFloat ? 0 : 1)) % meshes.size() != m) continue;
        const bool last = i + 1 == optimizers.size();
        const int stage = static_cast<int>(i + (type == at::kFloat ? 0 : 1)) % (last ? 2 : 4);
        SCOPED_TRACE(::testing::Message() << "optimizer " << i << " in " << type << ", stage " << stage);
        Course course{.steps = 2, .optimizer = optimizers[i], .type = type};
        course.config.layers = 1;
        course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .keep = 50};
        const TrainingRun run = train(course, spaces::one_d(mesh));
        for (const auto& [name, mine] : run.results) {
          for (const at::Tensor& theirs : all_parts(mesh, mine)) EXPECT_TRUE(at::equal(theirs, mine)) << name;
        }
      }
    }
  }
}

/// The values of all, and whether they are finite, on this worker.
std::vector<at::Tensor> trained(Store& store) {
  std::vector<at::Tensor> values;
  for (const Share& share : store.shares()) values.push_back(share.value.clone());
  return values;
}

/// The scale is too large for fp16 in one micro-batch of three, in which most workers have no row.
TEST(HalfPrecision, AllLeaveOutAStepThatOverflows) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Course course{.micro_batches = 3, .type = at::kHalf};
    course.config.layers = 1;
    models::MinGpt model(spaces::one_d(data_parallel()), course.config);
    model.initialise(7, course.type);
    Zero zero(model.parameters(), {.stage = stage, .bucket = 3000, .keep = 50});
    AdamW optimizer(zero.store());
    LossScale scale({.initial = 1e9, .factor = 1e7, .hysteresis = 1});
    const auto before = trained(*zero.store());

    course.scale = scale.value();
    EXPECT_TRUE(std::isfinite(accumulate(course, model, &zero, 0)));
    EXPECT_FALSE(scale.unscale(*zero.store()));
    optimizer.zero_gradients();
    EXPECT_EQ(scale.skipped(), 1);
    const auto skipped = trained(*zero.store());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_SAME_BITS(skipped[i], before[i]);

    course.scale = scale.value();
    accumulate(course, model, &zero, 0);
    EXPECT_TRUE(scale.unscale(*zero.store()));
    optimizer.step();
    optimizer.zero_gradients();
    EXPECT_EQ(optimizer.steps(), 1);
    const auto after = trained(*zero.store());
    bool changed = false;
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_TRUE(after[i].isfinite().all().item<bool>());
      changed = changed || !at::equal(after[i], before[i]);
    }
    // A worker's piece may be rows that no micro-batch has used.
    EXPECT_TRUE(any_flag(data_parallel(), {"dp"}, changed));
  }
}

/// 1 and eight times 2⁻⁹ are 1.015625, in bf16 too; added up there they are 1. Where weights' gradients are
/// put off, passes that go back before they are computed leave those of the bias; where no passes are said,
/// all that come are added in one round.
TEST(HalfPrecision, PassesAreAddedInFp32) {
  constexpr std::int64_t kPasses = 9;
  const Space X = Space(data_parallel(), {Space::any, 3}).sharded(0, "dp");
  const Vector x =
      distribute(X.with_shape({Runtime::size(), 3}), at::ones({Runtime::size(), 3}, at::kBFloat16));
  for (const int stage : {0, 1, 2, 3}) {
    for (const std::string way : {"said", "put off", "not said"}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", " << way);
      struct Model : Module {
        explicit Model(const Space& stream)
            : Module(""), linear({*this, "linear"}, "bi,io->bo", stream, stream) {
          initialise(3, at::kBFloat16);
        }
        std::string describe() const override { return "a layer"; }
        Linear linear;
      } model(X);
      Zero zero(model.parameters(), {.stage = stage, .keep = 0});
      std::deque<Chain> chains;
      std::deque<DeferredGradients> later;
      std::deque<Vector> results;
      for (std::int64_t i = 0; i < kPasses; ++i) {
        if (way != "not said") zero.begin(i, kPasses);
        if (way == "put off") later.emplace_back();
        chains.emplace_back(static_cast<int>(i));
        results.push_back(model.linear(x));
        chains.back().leave();
        if (way == "put off") later.back().leave();
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Chain::Scope in(chains[i]);
        const Vector& y = results[i];
        backward(y, {dual(y.space()), at::full_like(y.local(), i == 0 ? 1 : 0x1p-9).detach()});
      }
      for (DeferredGradients& each : later) each.compute();
      for (const Parameter& parameter : model.parameters()) {
        const at::Tensor sum = parameter.gradient().local().to(at::kDouble);
        EXPECT_SAME_BITS(sum, at::full_like(sum, (1 + 0x1p-6) * Runtime::size())) << parameter.name();
      }
      zero.store()->zero_gradients();
    }
  }
}

/// Such as fp32 norms in a bf16 model: buckets are of one type each, in one unit.
TEST(HalfPrecision, ParametersMayBeOfTwoTypes) {
  const Partition mesh = data_parallel();
  const Space X = Space(mesh, {7, 3}).sharded(0, "dp"), Y = Space(mesh, {7, 5}).sharded(0, "dp");
  std::vector<at::Tensor> expected;
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Parameter w("block.0.weight", Space(mesh, {5, 3}), {Initial::normal(1), true});
    Parameter norm("block.0.norm", Space(mesh, {5, 5}), {Initial::normal(1), true});
    w.initialise(1, at::kBFloat16);
    norm.initialise(1, at::kFloat);
    Zero zero({w, norm}, {.stage = stage, .keep = 0});
    AdamW optimizer(zero.store(), {.learning_rate = 0.1});
    for (int step = 0; step < 3; ++step) {
      Chain chain;
      const Vector x = distribute(X, at::linspace(-1, 1, 21, at::kBFloat16).view({7, 3}));
      const Vector y = contract("bi,oi->bo", x, w.value(), Y);
      const Vector z = contract("bi,oi->bo", Vector(Y, y.local().to(at::kFloat)), norm.value(), Y);
      backward(contract("bo,bo->", z, z, Space(mesh, {})));
      optimizer.step();
      optimizer.zero_gradients();
    }
    EXPECT_EQ(w.type(), at::kBFloat16);
    std::vector<at::Tensor> values{w.get().local(), norm.get().local()};
    if (stage == 0) {
      expected = values;
      EXPECT_EQ(zero.holdings().parameters, 2 * 15 + 4 * 25);
      EXPECT_EQ(zero.holdings().masters, 4 * 15);
    }
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_SAME_BITS(values[i], expected[i]);
  }
}

}  // namespace
}  // namespace riesz::testing
