// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model whose blocks run again trains to the same bits at every layout and stage of ZeRO; what stage 3
// gathers for that.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../zero/training.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using Regions = RecomputePolicy::Regions;

std::vector<Layout> layouts_of_all() {
  const int n = Runtime::size();
  const auto grid = [](std::vector<Axis> axes) { return Partition::world().grid(std::move(axes)); };
  std::vector<Layout> all{
      spaces::one_d(grid({{"dp", 1}, {"tp", n}})), spaces::sequence_parallel(grid({{"dp", 1}, {"tp", n}})),
      spaces::ring(grid({{"dp", 1}, {"sp", n}})), spaces::ulysses(grid({{"dp", 1}, {"sp", n}}))};
  if (n == 4) {
    all.push_back(spaces::sequence_parallel(grid({{"dp", 2}, {"tp", 2}})));
    all.push_back(spaces::ring(grid({{"dp", 2}, {"sp", 2}})));
  }
  return all;
}

/// Each layout with all stages; the policies, tied weights and numbers of micro-batches by turns.
TEST(RecomputeModel, TrainsToTheSameBits) {
  const std::vector<RecomputePolicy> policies{{.regions = Regions::blocks},
                                              {.regions = Regions::attention},
                                              {.regions = Regions::blocks, .pieces_over = {"tp"}},
                                              {.regions = Regions::blocks, .every = 2}};
  std::size_t number = 0;
  for (const Layout& layout : layouts_of_all()) {
    for (const int stage : {0, 1, 2, 3}) {
      Course course{.steps = stage == 3 ? 2 : 1,
                    .micro_batches = number % 3 == 0 ? 1 : 2,
                    .optimizer = some_optimizers()[0].second};
      course.config.dropout = 0.1;
      course.config.tied = number % 2 == 0;
      course.zero = ZeroOptions{
          .stage = stage, .bucket = 4000, .keep = 50, .prefetch = stage == 3 && number % 8 > 3 ? 0 : 1};
      const TrainingRun plain = train(course, layout);
      course.recompute = policies[(number + number / 4) % 4];
      SCOPED_TRACE(::testing::Message() << layout.name << " on " << to_string(layout.mesh) << ", stage "
                                        << stage << ", policy " << (number + number / 4) % 4);
      expect_same_bits(train(course, layout), plain);
      ++number;
    }
  }
}

Module& blocks_of(Module& model) {
  for (Module* part : model.parts())
    if (part->is_repeated()) return *part;
  throw_error("no blocks");
}

struct Sent {
  std::int64_t all = 0, of_blocks = 0;  // what leaves this worker, and of that gathers of blocks
};

/// In a step in data parallel, in which nothing else is sent between layers.
template <typename Say>
Sent sent(int layers, const ZeroOptions& options, const Say& say_regions) {
  Course course;
  course.config.layers = layers;
  models::MinGpt model(spaces::one_d(data_parallel()), course.config);
  model.initialise(1, course.type);
  say_regions(model);
  Zero zero(model.parameters(), options);
  const auto optimizer = some_optimizers()[0].second(zero.store());
  for (int step = 0; step < 2; ++step) {  // the first learns the order
    Counters::instance().reset();
    Counters::instance().record(true);
    accumulate(course, model, &zero, 0);
    optimizer->step();
    optimizer->zero_gradients();
    zero.store()->shares();  // waits for what the step began
  }
  Sent sum;
  for (const TrafficRecord& record : Counters::instance().records()) {
    sum.all += record.traffic.elements;
    if (record.operation.starts_with("AllGather of transformer.h.")) sum.of_blocks += record.traffic.elements;
  }
  Counters::instance().record(false);
  return sum;
}

/// Regions of one unit each cost no gather: backward's is enough. A region of all n blocks gathers each once
/// more; of two, with one ahead, none, for both are there all the time.
TEST(RecomputeModel, GathersWhatIsNotThere) {
  const auto nothing = [](Module&) {};
  const auto each_block = [](Module& model) { set_recompute(model, {.regions = Regions::blocks}); };
  const auto all_blocks = [](Module& model) { blocks_of(model).set_recompute(RecomputeOptions{}); };
  for (const int stage : {0, 1, 2, 3}) {
    for (const int prefetch : {0, 1}) {
      const ZeroOptions options{.stage = stage, .bucket = 4000, .keep = 0, .prefetch = prefetch};
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", " << prefetch << " ahead");
      EXPECT_EQ(sent(3, options, each_block).all, sent(3, options, nothing).all);
    }
  }
  const ZeroOptions one_by_one{.stage = 3, .keep = 0, .prefetch = 0},
      ahead{.stage = 3, .keep = 0, .prefetch = 1};
  const Sent plain = sent(3, one_by_one, nothing);  // forward and backward
  EXPECT_EQ(sent(3, one_by_one, all_blocks).all, plain.all + plain.of_blocks / 2);
  EXPECT_EQ(sent(2, ahead, all_blocks).all, sent(2, ahead, nothing).all);
}

TEST(RecomputeModel, HasItsRegionsByPolicy) {
  models::MinGpt model(spaces::one_d(one_worker()), {.layers = 5});
  const auto regions = [&](const RecomputePolicy& policy) {
    set_recompute(model, policy);
    std::string names;
    const std::function<void(const Module&)> look = [&](const Module& module) {
      if (module.recompute_options()) names += module.path() + " ";
      for (const Module* part : module.parts()) look(*part);
    };
    look(model);
    return names;
  };
  EXPECT_EQ(regions({.regions = Regions::blocks, .every = 2}),
            "transformer.h.0 transformer.h.2 transformer.h.4 ");
  EXPECT_EQ(regions({.regions = Regions::attention}),
            "transformer.h.0.attn transformer.h.1.attn transformer.h.2.attn transformer.h.3.attn "
            "transformer.h.4.attn ");
  EXPECT_EQ(regions({}), "");
  EXPECT_ERROR(regions({.regions = Regions::blocks, .every = 0}), "recompute of every 0th block");
  EXPECT_ERROR(set_recompute(*model.parts()[0], {.regions = Regions::attention}),
               "there is no layer Attention");
  EXPECT_ERROR(recompute_regions("some"), "recompute of \"some\"; it is none, blocks or attention");
}

}  // namespace
}  // namespace riesz::testing
