// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Training in bf16 and fp16, of parameters or of what is computed of fp32 ones, is the same at every layout,
// wherever state lives and in however many micro-batches, up to the type's roundings; and replicas hold the
// same bits.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/testing/parts.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/step.h"

namespace riesz {
namespace {

constexpr std::int64_t kSteps = 3;

/// Between a weight and its gradient numbers are rounded to the type this often, at most: in a forward pass
/// by each of 19 operations of one block, embeddings and output layer, and by 3 sums over workers; as often
/// backward; and by a product, 2 additions of micro-batches and a sum over workers of the weight's gradient.
constexpr double kRoundings = 2 * (19 + 3) + 4;

struct Precision {
  const char* name;
  at::ScalarType type;  ///< of the parameters
  std::optional<at::ScalarType> compute;
  double roundoff;  ///< the greatest relative change by one rounding
};
const std::vector<Precision> kPrecisions{{"bf16", at::kBFloat16, {}, 0x1p-8},
                                         {"fp16", at::kHalf, {}, 0x1p-11},
                                         {"fp32", at::kFloat, at::kBFloat16, 0x1p-8},
                                         {"fp32", at::kFloat, at::kHalf, 0x1p-11}};

std::string compute_of(const Precision& precision) {
  if (!precision.compute) return "same";
  return *precision.compute == at::kHalf ? "fp16" : "bf16";
}

Config config_of(const Precision& precision) {
  Config config;
  config.precision = precision.name;
  config.compute = compute_of(precision);
  config.model = {.layers = 1, .heads = 4, .width = 16, .context = 6, .dropout = 0};
  config.optimizer.kind = "sgd";  // whose updates are as exact as its gradients
  config.optimizer.learning_rate = 0.5;
  config.schedule.kind = "constant";
  config.schedule.warm_up = 0;
  config.train.steps = kSteps;
  config.train.batch = 7;
  return config;
}

struct Run {
  std::vector<double> losses, gradient_norms;
  std::map<std::string, at::Tensor> before, after;  // weights, in fp64
};

std::map<std::string, at::Tensor> weights_of(const models::MinGpt& model) {
  const at::NoGradGuard no_gradient;
  std::map<std::string, at::Tensor> weights;
  for (const Parameter& parameter : model.parameters()) {
    const Vector value = parameter.value();
    const std::vector<at::Tensor> parts = testing::all_parts(value.space().partition(), value.local());
    EXPECT_TRUE(testing::belongs(value.space(), parts, true)) << parameter.name() << ": replicas differ";
    weights[parameter.name()] = testing::meant({value.space(), value.local().detach().to(at::kDouble)});
  }
  return weights;
}

/// The workers of the job, or this one by itself.
Run train(const Config& config, const Precision& precision, bool alone) {
  const Partition workers = alone ? Partition::world().subset({Runtime::rank()}) : Partition::world();
  const models::MinGptConfig shape{.layers = config.model.layers,
                                   .heads = config.model.heads,
                                   .width = config.model.width,
                                   .vocabulary = Adder::vocabulary,
                                   .context = config.model.context,
                                   .dropout = config.model.dropout,
                                   .contraction = {.compute_type = precision.compute}};
  const Partition mesh = workers.grid(layout_axes(config.layout));
  models::MinGpt gpt(spaces::named(config.layout.tensor, config.layout.sequence, mesh), shape);
  gpt.initialise(1, precision.type);
  const Learner model{gpt, gpt.tokens(), gpt.targets(), [&](const Vector& ids) { return gpt(ids); }};
  const AdderTask task(config);
  Run run;
  run.before = weights_of(gpt);
  TrainingStep step(config, model);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const TrainingStep::Result result = step(i, task.batch(i * config.train.batch, config.train.batch));
    EXPECT_FALSE(result.skipped);
    run.losses.push_back(result.loss);
    run.gradient_norms.push_back(result.gradient_norm);
  }
  run.after = weights_of(gpt);
  return run;
}

double norm(const at::Tensor& x) { return x.square().sum().sqrt().item<double>(); }

/// Two runs are 2 kRoundings roundings apart, each of u/√3 in the root mean square, which add as independent
/// ones do; thrice that is allowed. A weight is rounded once more when it is stored.
void expect_same(const Run& run, const Run& one_rank, double roundoff) {
  const double apart = 3 * std::sqrt(2 * kRoundings / 3) * roundoff;
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(run.losses[i], one_rank.losses[i], apart * one_rank.losses[i]);
    EXPECT_NEAR(run.gradient_norms[i], one_rank.gradient_norms[i], apart * one_rank.gradient_norms[i]);
  }
  ASSERT_EQ(run.after.size(), one_rank.after.size());
  for (const auto& [name, weight] : one_rank.after) {
    ASSERT_TRUE(run.after.contains(name));
    EXPECT_TRUE(run.before.at(name).equal(one_rank.before.at(name))) << name;
    const double moved = norm(weight.sub(one_rank.before.at(name)));
    const double difference = norm(run.after.at(name).sub(weight));
    EXPECT_LE(difference, apart * moved + 2 * roundoff * norm(weight)) << name << " moved by " << moved;
  }
}

void expect_same_on_all_workers(Config config, const Precision& precision) {
  const Config::Layout& l = config.layout;
  const std::string name = concat(precision.name, " computed in ", compute_of(precision));
  SCOPED_TRACE(concat(name, ", dp ", l.dp, ", tp ", l.tp, " as ", l.tensor, ", sp ", l.sp, " as ", l.sequence,
                      ", ZeRO ", l.zero, ", ", config.train.micro_batches, " micro-batches"));
  static std::map<std::string, Run> one_rank;
  if (!one_rank.contains(name)) one_rank[name] = train(config_of(precision), precision, /*alone=*/true);
  expect_same(train(config, precision, /*alone=*/false), one_rank[name], precision.roundoff);
}

TEST(HalfPrecision, TrainsTheSameAtEveryLayout) {
  for (const Precision& precision : kPrecisions) {
    Config config = config_of(precision);
    std::int64_t turn = 0;
    for (const char* tensor : {"1d", "sp", "2d"}) {
      for (const char* sequence : {"none", "ring", "ulysses"}) {
        for (const Config::Layout& layout : layouts_on(Runtime::size(), tensor, sequence)) {
          config.layout = layout;
          config.layout.zero = turn++ % 4;
          expect_same_on_all_workers(config, precision);
        }
      }
    }
  }
}

TEST(HalfPrecision, TrainsTheSameWhereverStateLivesAndInMicroBatches) {
  for (const Precision& precision : kPrecisions) {
    Config config = config_of(precision);
    config.layout.dp = Runtime::size();
    for (const std::int64_t stage : {0, 1, 2, 3}) {
      config.layout.zero = stage;
      for (const std::int64_t micro_batches : {1, 3}) {
        config.train.micro_batches = micro_batches;
        expect_same_on_all_workers(config, precision);
      }
    }
  }
}

}  // namespace
}  // namespace riesz
