// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Models that are no sequence of layers: a skip over stages, structs of several vectors, branches and numbers
// of rounds that the data decides. Each gives on a pipeline what it gives alone.
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parts.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TrainingRun piped(const Parts::Way& way, const std::string& schedule, int pp, const Stages& stages) {
  Parts model(stages, way);
  model.initialise(3, at::kDouble);
  const Pipeline pipeline(model, make_schedule(schedule, {.stages = pp, .micro_batches = kMicroBatches}));
  const std::vector<double> losses =
      pipeline.train([&](std::int64_t i) { return loss_of(model, model.spaces().stream("bc"), i); });
  return results_of(Partition::world(), model, losses);
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
