// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a pipeline sends, counted, is the formulas of docs/guides/pipelines.md: at boundaries, for a tied
// weight, and for ZeRO of each chunk.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "placed.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "two_uses.h"

namespace riesz::testing {
namespace {

/// A course on two or three stages, of every worker of the job; and where this one stands.
struct Here {
  PlacedCourse course;
  int pp = 0, dp = 0, tp = 0;

  Here(const std::string& schedule, int stages, int tensor) {
    course.schedule = schedule;
    course.chunks = schedule == "interleaved" || schedule == "zb_v" ? 2 : 1;
    course.pp = stages;
    course.tp = tensor;
    course.dp = Runtime::size() / stages / tensor;
    course.micro_batches = stages == 3 ? 3 : 4;
    pp = Runtime::rank() / (course.dp * course.tp);
    dp = Runtime::rank() / course.tp % course.dp;
    tp = Runtime::rank() % course.tp;
  }
};

/// f(chunk, forward?, micro-batch) for each pass of this worker's row that goes on from its chunk.
void each_pass(const Here& here, const std::function<void(int chunk, bool forward, int i)>& f) {
  const Schedule table = schedule_of(here.course);
  for (const Action& action : table.rows[static_cast<std::size_t>(here.pp)]) {
    const bool forward = action.pass == Pass::forward;
    if (forward || action.pass == Pass::backward || action.pass == Pass::backward_inputs)
      f(action.chunk, forward, action.micro_batch);
  }
}

/// To workers of other stages: each micro-batch's rows of (B, T, C), and a tied weight's part. Nothing goes
/// back to chunks before `trained`, which are all frozen.
Traffic sent_across(const Here& here, int trained = 0) {
  const PlacedCourse& course = here.course;
  const std::vector<int> worker_of = schedule_of(course).worker_of;
  const int n = static_cast<int>(worker_of.size());
  const Split rows = Split::balanced(course.batch, course.micro_batches);
  Traffic sent;
  each_pass(here, [&](int chunk, bool forward, int i) {
    const int to = forward ? chunk + 1 : chunk - 1;
    if (!forward && to < trained) return;
    if (to < 0 || to == n || worker_of[static_cast<std::size_t>(to)] == here.pp) return;
    const std::int64_t mine = Split::balanced(rows[i].size(), course.dp)[here.dp].size();
    const std::int64_t elements = mine * course.config.context * course.config.width;
    sent += {elements, 8 * elements, mine > 0 ? 1 : 0};
  });
  const bool lends = course.config.tied && worker_of.front() != worker_of.back();
  if (lends && (here.pp == worker_of.front() || here.pp == worker_of.back())) {
    const std::int64_t words = Split::balanced(course.config.vocabulary, course.tp)[here.tp].size();
    const std::int64_t elements = words * course.config.width;
    sent += {elements, 8 * elements, 1};
  }
  return sent;
}

TEST(PipelineCost, IsWhatCrossesTheBoundaries) {
  const std::map<int, std::pair<int, int>> stages_and_tp{{2, {2, 1}}, {4, {2, 2}}, {6, {3, 1}}};
  const auto found = stages_and_tp.find(Runtime::size());
  if (found == stages_and_tp.end()) return;
  int number = 0;
  for (const std::string schedule : {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v", "zb_v"}) {
    Here here(schedule, found->second.first, found->second.second);
    here.course.config.tied = ++number % 2 == 0;
    SCOPED_TRACE(to_string(here.course));
    PlacedModel placed(here.course);
    Counters::instance().reset();
    placed.go(0);
    EXPECT_EQ(Counters::instance().by_operation()["SendRecv"], sent_across(here));
  }
}

TEST(PipelineCost, OfFrozenStagesIsThatOfTheWayForward) {
  if (Runtime::size() != 2 && Runtime::size() != 4) return;
  for (const std::string schedule : {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v"}) {
    Here here(schedule, 2, 1);
    here.course.frozen = {"transformer.w?e", "transformer.h.[0-2]"};
    SCOPED_TRACE(to_string(here.course));
    PlacedModel placed(here.course);
    int trained = 0;  // the first chunk of which anything is
    const Stages& stages = *placed.model().stages();
    std::set<int> chunks;
    for (const Parameter& parameter : placed.model().parameters())
      if (parameter.trained()) chunks.insert(stages.named(parameter.name()).value_or(0));
    trained = *chunks.begin();
    EXPECT_GT(trained, 0);
    Counters::instance().reset();
    placed.go(0);
    EXPECT_EQ(Counters::instance().by_operation()["SendRecv"], sent_across(here, trained));
  }
}

/// Brought once a run, and its gradient back once and in its own type, each to the worker across, and summed
/// once where the weight lies; nothing comes back to a frozen one. After the run it is the owner's again.
TEST(PipelineCost, OfALentWeightIsOfARun) {
  if (Runtime::size() % 2 != 0) return;
  constexpr std::int64_t m = 4, width = 5, n = width * width;
  const int dp = Runtime::size() / 2;
  const bool owns = Runtime::rank() < dp;
  const auto summed = [&](std::int64_t elements) {
    const std::int64_t mine = Split::balanced(elements, dp)[Runtime::rank() % dp].size();
    return elements - mine + (dp - 1) * mine;
  };
  for (const bool frozen : {false, true}) {
    SCOPED_TRACE(frozen);
    TwoUses model(width, true);
    Parameter weight = model.parameters().front();
    if (frozen) weight.freeze();
    const Pipeline pipeline(model, make_schedule("one_f_one_b", {.stages = 2, .micro_batches = m}));
    Counters::instance().reset();
    pipeline.train([&](std::int64_t) { return model.sum_of_rows(1); });
    auto sent = Counters::instance().by_operation();
    Traffic across{m * width, 2 * m * width, m};  // a row of each micro-batch, or its gradient
    if (owns || !frozen) across += {n, 2 * n, 1};
    EXPECT_EQ(sent["SendRecv"], across);
    const std::int64_t of_bias = m * summed(width), of_loss = m * summed(1);
    const std::int64_t of_weight =
        frozen ? 0 : (m + 1) * summed(n);  // of its own uses, and of the lent one's
    EXPECT_EQ(sent["AllReduce"].elements, owns ? of_bias + of_weight : of_loss);

    const at::NoGradGuard no_gradient;
    weight.set(at::full({width, width}, 3, at::kBFloat16));
    EXPECT_TRUE(model.lent().front().here.value().local().eq(3).all().item<bool>());
  }
}

/// Elements of each chunk's units, in order.
std::map<int, std::vector<std::int64_t>> units(models::MinGpt& model) {
  std::map<int, std::vector<std::int64_t>> all;
  std::string last;
  for (const Parameter& parameter : model.parameters()) {
    const std::string& name = parameter.name();
    const std::size_t block = name.find(".h.");
    const std::string unit = name.substr(0, block == std::string::npos ? name.rfind('.') : block + 4);
    std::vector<std::int64_t>& of_chunk = all[model.stages()->named(name).value_or(0)];
    if (unit != last) of_chunk.push_back(0);
    of_chunk.back() += parameter.numel();
    last = unit;
  }
  return all;
}

/// Gathers of each unit: a pass of a chunk gathers each, but for the one that its last pass has left.
std::map<int, std::vector<int>> gathers(const Here& here,
                                        const std::map<int, std::vector<std::int64_t>>& units) {
  std::map<int, std::vector<int>> times;
  std::map<int, int> there;
  each_pass(here, [&](int chunk, bool forward, int) {
    const int n = units.contains(chunk) ? static_cast<int>(units.at(chunk).size()) : 0;
    times[chunk].resize(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
      const int unit = forward ? k : n - 1 - k;
      if (there.contains(chunk) && there[chunk] == unit) continue;
      there[chunk] = unit;
      ++times[chunk][static_cast<std::size_t>(unit)];
    }
  });
  return times;
}

TEST(PipelineCost, OfZeroIsOfEachMicroBatch) {
  if (Runtime::size() != 4 && Runtime::size() != 6) return;
  for (const std::string schedule : {"gpipe", "one_f_one_b", "zb_v"}) {
    for (const int stage : {2, 3}) {
      Here here(schedule, 2, 1);
      PlacedCourse& course = here.course;
      course.zero = ZeroOptions{.stage = stage, .bucket = 1 << 30, .keep = 0};
      // What a lent weight brings back is no pass of Zero, nor is a second use on the same workers.
      course.config.tied = schedule == "one_f_one_b" || (schedule == "zb_v" && stage == 2);
      SCOPED_TRACE(to_string(course));
      PlacedModel placed(course);
      Counters::instance().record(true);
      placed.go(0);
      placed.state().store()->shares();  // waits for what is reduced
      std::map<std::string, std::int64_t> sent;
      for (const TrafficRecord& record : Counters::instance().records()) {
        const std::size_t of = record.operation.find(" of ");
        if (of != std::string::npos) sent[record.operation.substr(0, of)] += record.traffic.elements;
      }
      Counters::instance().record(false);

      std::int64_t reduced = 0, gathered = 0;
      const auto all = units(placed.model());
      for (const auto& [chunk, times] : gathers(here, all)) {
        std::int64_t whole = 0;
        for (std::size_t k = 0; k < times.size(); ++k) {
          const std::int64_t n = all.at(chunk)[k];
          const std::int64_t mine = Split::balanced(n, course.dp)[here.dp].size();
          gathered += times[k] * (course.dp - 1) * mine;
          whole += n;
          if (stage == 3) reduced += course.micro_batches * (n - mine);
        }
        const std::int64_t mine = Split::balanced(whole, course.dp)[here.dp].size();
        if (stage == 2) reduced += course.micro_batches * (whole - mine);
      }
      EXPECT_EQ(sent["ReduceScatter"], reduced);
      EXPECT_EQ(sent["AllGather"], stage == 3 ? gathered : 0);  // stage 2 gathers after the step
    }
  }
}

}  // namespace
}  // namespace riesz::testing
