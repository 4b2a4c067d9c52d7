// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Where the state of stages lies in a Zero each: a micro-batch is a pass of each, however it goes through the
// stages, and what is frozen holds nothing up.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parts.h"
#include "riesz/comm/counters.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/zero/stage_zeros.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

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

Vector twice(Parts& p, const Vector& x) { return p[3](p[0](p[3](p[0](x)))); }

/// To stages by a fixed way, and by the data, of which some micro-batches do not come back. Each micro-batch
/// is a pass of the stage's Zero, in all runs of a step. A step of one run needs no `begin`.
TEST(StagesOfZero, ComeBackInEachRunOfAStep) {
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
        const auto begin = [&](std::int64_t i) {
          if (runs > 1) zeros.begin(i, kMicroBatches);
        };
        EXPECT_TRUE(compare_runs(in_runs(pp, runs, model, begin, *zeros.store()), reference));
      }
    }
  }
}

/// A stage of which nothing is trained, before those that are or behind them.
TEST(StagesOfZero, GoThroughAFrozenStageUnderZero) {
  const int pp = Runtime::size() % 2 == 0 ? 2 : stages_here();
  if (pp == 1) return;
  for (const int frozen : {0, pp - 1}) {
    const auto made = [&](Parts& model) -> Parts& {
      model.initialise(3, at::kDouble);
      for (Parameter parameter : model.parameters()) {
        const int part = parameter.name()[parameter.name().find('.') + 1] - '0';  // "part.0.linear.weight"
        if (part * pp / 4 == frozen) parameter.freeze();
      }
      return model;
    };
    Parts here(ModelSpaces(spaces::one_d(one_worker()), roles()), ways().at("a skip over stages"));
    const TrainingRun reference = trained_alone(made(here));
    for (const int zero : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << frozen << " is frozen, ZeRO " << zero);
      Parts model(equal_stages(pp), ways().at("a skip over stages"));
      StageZeros zeros(made(model), {.stage = zero});
      EXPECT_TRUE(compare_runs(in_runs(
                                   pp, 1, model, [](std::int64_t) {}, *zeros.store()),
                               reference));
    }
  }
}

/// Where each chunk's Zero is told by hand: of each micro-batch, or of more passes than there are.
TEST(StagesOfZero, ComeBackWithAZeroOfEachChunk) {
  const int pp = Runtime::size() % 2 == 0 ? 2 : stages_here();
  if (pp == 1) return;
  for (const std::int64_t said : {2, 1}) {
    SCOPED_TRACE(said);
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
    EXPECT_TRUE(compare_runs(in_runs(pp, 2, model, begin, *several(stores)), alone(twice)));
  }
}

/// The head is built before the blocks, so it lies with the first of them: micro-batches come back to it.
Vector head_first(Parts& p, const Vector& x) { return p[0](p[3](p[2](p[1](x)))); }

/// What leaves this worker in the reductions of one run's micro-batches.
std::int64_t reduced_in_a_run(Parts& model, Store& store, int pp) {
  const Pipeline pipeline(model, make_schedule("gpipe", {.stages = pp, .micro_batches = kMicroBatches}));
  Counters::instance().record(true);
  pipeline.train([&](std::int64_t i) { return loss_of(model, model.spaces().stream("bc"), i); });
  store.shares();  // waits for what is reduced
  std::int64_t elements = 0;
  for (const TrafficRecord& record : Counters::instance().records())
    if (record.operation.starts_with("ReduceScatter of ")) elements += record.traffic.elements;
  Counters::instance().record(false);
  return elements;
}

/// A micro-batch is one pass of a stage's Zero, which reduces once for each: however often it comes to the
/// stage, and in whatever order the parts are built.
TEST(StagesOfZero, ReduceOncePerMicroBatch) {
  constexpr int pp = 2;
  if (Runtime::size() != 4) return;
  const std::vector<std::pair<Stages, Parts::Way>> cases{{equal_stages(pp), head_first},
                                                         {equal_stages(pp), twice},
                                                         {parts_on(pp, {0, 1}, {1, 0, 0, 1}), head_first}};
  for (const int zero : {2, 3}) {
    int number = 0;
    for (const auto& [stages, way] : cases) {
      SCOPED_TRACE(::testing::Message() << "ZeRO " << zero << ", case " << number++);
      Parts model(stages, way);
      model.initialise(3, at::kDouble);
      const StageZeros zeros(model, {.stage = zero, .keep = 0});
      const Pipeline chunks(model, make_schedule("gpipe", {.stages = pp, .micro_batches = 1}));
      std::int64_t elements = 0;
      for (int chunk = 0; chunk < pp; ++chunk) {
        for (const Parameter& each : chunks.parameters(chunk))
          if (chunks.workers(chunk).active()) elements += each.numel();
      }
      // Each bucket has an even number of elements, of which this worker keeps half.
      EXPECT_EQ(reduced_in_a_run(model, *zeros.store(), pp), kMicroBatches * elements / 2);
    }
  }
}

}  // namespace
}  // namespace riesz::testing
