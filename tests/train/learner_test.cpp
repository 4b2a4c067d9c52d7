// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/learner.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/module.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/train/data/adder_task.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::SmallGpt;

/// Calls f for all workers on dp, and for all on tp.
template <typename F>
void for_each_layout(const F& f) {
  for (const bool data : {true, false}) {
    SCOPED_TRACE(data ? "dp" : "tp");
    f(data ? Runtime::size() : 1, data ? 1 : Runtime::size());
  }
}

TEST(Predict, IsTheWholeVectorAfterTheLastId) {
  const AdderTask task(SmallGpt::one_digit());
  const at::Tensor ids = task.batch(0, 3).inputs.whole();
  for_each_layout([&](int dp, int tp) {
    SmallGpt small(dp, tp, /*dropout=*/0.5);

    const at::Tensor logits = predict(small.model(), ids);
    const at::Tensor again = predict(small.model(), ids);

    ASSERT_EQ(logits.sizes(), (std::vector<std::int64_t>{3, 10}));
    EXPECT_TRUE(logits.equal(again));  // no dropout
    EXPECT_FALSE(logits.requires_grad());
    EXPECT_EQ(ContextScope::current(), nullptr);
    EXPECT_TRUE(at::GradMode::is_enabled());
    // Causal: what follows a shorter sequence does not depend on what came after it.
    const at::Tensor one = predict(small.model(), ids.narrow(0, 0, 1));
    EXPECT_TRUE(at::allclose(one.select(0, 0), logits.select(0, 0), 1e-12, 1e-12));
    EXPECT_FALSE(at::allclose(predict(small.model(), ids.narrow(1, 0, 2)), logits));
  });
}

TEST(Predict, GathersTheLastRowsLogitsAlone) {
  const at::Tensor ids = AdderTask(SmallGpt::one_digit()).batch(0, 3).inputs.whole();
  for_each_layout([&](int dp, int tp) {
    SmallGpt small(dp, tp);
    Learner model = small.model();
    Traffic before;
    std::vector<std::int64_t> mine;
    model.logits = [&](const Vector& x) {
      const Vector logits = small.gpt(x);
      before = Counters::instance().total();
      mine = logits.space().local_shape();
      return logits;
    };

    predict(model, ids);

    const Traffic moved = Counters::instance().total() - before;
    EXPECT_EQ(moved.elements, (Runtime::size() - 1) * mine[0] * mine[2]);
  });
}

TEST(HeldOutLoss, IsTheMeanOverAllTargetsThatCount) {
  const AdderTask task(SmallGpt::one_digit());
  const Batch all = task.held_out(0, task.held_out());
  for_each_layout([&](int dp, int tp) {
    SmallGpt small(dp, tp, /*dropout=*/0.5);
    double expected = 0;
    for (std::int64_t position = 1; position < 3; ++position) {  // the answer's two digits
      const at::Tensor logits = predict(small.model(), all.inputs.whole().narrow(1, 0, position + 1));
      const at::Tensor right = all.targets.whole().select(1, position).unsqueeze(1);
      expected -= at::log_softmax(logits, 1).gather(1, right).sum().item<double>();
    }
    expected /= static_cast<double>(2 * task.held_out());

    EXPECT_NEAR(held_out_loss(small.model(), task, 1000, 7), expected, 1e-12);
    EXPECT_NEAR(held_out_loss(small.model(), task, task.held_out(), 1000), expected, 1e-12);
    EXPECT_GT(std::abs(held_out_loss(small.model(), task, 3, 7) - expected), 1e-6);
  });
}

/// Such as the loss that balances experts: it is no loss of the text.
TEST(HeldOutLoss, LeavesOutTheModelsOwnLoss) {
  const AdderTask task(SmallGpt::one_digit());
  SmallGpt small(Runtime::size(), 1);
  Learner model = small.model();
  model.logits = [&](const Vector& x) -> Predictions {
    const Vector logits = small.gpt(x);
    return {logits, mean(square(logits), {}, {.all_reduce = true})};
  };
  EXPECT_EQ(held_out_loss(model, task, 10, 10), held_out_loss(small.model(), task, 10, 10));
}

/// How many rows each call of a model has.
Learner counting(SmallGpt& small, std::vector<std::int64_t>& rows) {
  Learner model = small.model();
  model.logits = [&](const Vector& x) {
    rows.push_back(x.space().shape()[0]);
    return small.gpt(x);
  };
  return model;
}

/// 7 rows are cut as a batch of a step is.
TEST(HeldOutLoss, AndPredictionsTakeNoMoreRowsAtOnceThanAMicroBatch) {
  const AdderTask task(SmallGpt::one_digit());
  const at::Tensor ids = task.held_out(0, 7).inputs.whole();
  SmallGpt small(Runtime::size(), 1);
  std::vector<std::int64_t> rows;
  const Learner model = counting(small, rows);
  EXPECT_NEAR(held_out_loss(model, task, 8, 7, nullptr, 3), held_out_loss(small.model(), task, 8, 7), 1e-12);
  EXPECT_TRUE(at::allclose(predict(model, ids, nullptr, 3), predict(small.model(), ids), 1e-12, 1e-12));
  EXPECT_EQ(rows, (std::vector<std::int64_t>{3, 2, 2, 1, 3, 2, 2}));
}

/// Calls of 7 rows are cut into micro-batches, those of 3 into fewer than there are.
TEST(HeldOutLoss, AndPredictionsAreOneWorkersOnAnyPipeline) {
  const AdderTask task(SmallGpt::one_digit());
  const at::Tensor ids = task.held_out(0, 7).inputs.whole();
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}});
  const int p = Runtime::size() == 4 ? 2 : Runtime::size();
  for (const char* name : {"gpipe", "one_f_one_b", "interleaved", "varuna", "zb_v", "pipedream", "ampnet"}) {
    SCOPED_TRACE(name);
    const Schedule table = make_schedule(name, {.stages = p, .micro_batches = 2 * p});
    SmallGpt small = SmallGpt::placed(table, /*dropout=*/0.5);
    SmallGpt one(alone, spaces::one_d(alone), small.config.layers, /*dropout=*/0.5);
    const Pipeline pipeline(small.gpt, table);
    std::vector<std::int64_t> rows;
    const Learner model = counting(small, rows);

    for (const std::int64_t at_once : {3, 7}) {
      const double loss = held_out_loss(model, task, 10, at_once, &pipeline);
      EXPECT_NEAR(loss, held_out_loss(one.model(), task, 10, at_once), 1e-12);
    }
    const at::Tensor logits = predict(model, ids, &pipeline);

    EXPECT_TRUE(at::allclose(logits, predict(one.model(), ids), 1e-12, 1e-12));
    EXPECT_FALSE(logits.requires_grad());
    std::vector<std::int64_t> parts;
    for (const int call : {3, 3, 3, 1, 7, 3, 7}) {
      for (int i = 0; i < std::min(call, 2 * p); ++i) parts.push_back(Split::balanced(call, 2 * p)[i].size());
    }
    EXPECT_EQ(rows, parts);
  }
}

}  // namespace
}  // namespace riesz
