// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The plan of a step is what the workers of a real job count in it, record by record.
#include "riesz/app/jobs/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "riesz/app/models/model.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/router.h"
#include "riesz/models/min_gpt.h"
#include "riesz/partition/split.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/number_text.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

/// Uneven everywhere; more workers than heads, or than sequences, at some layouts.
Config adder(int dp, int tp) {
  Config config;
  config.layout.dp = dp;
  config.layout.tp = tp;
  config.model.layers = 2;
  config.model.width = 15;
  config.model.dropout = 0.1;
  config.train.batch = 3;
  return config;
}

using Lines = std::map<std::string, Traffic>;

Lines lines_of(const std::vector<TrafficRecord>& records) {
  Lines lines;
  for (const TrafficRecord& r : records)
    lines[r.origin.layer + "|" + to_string(r.origin.phase) + "|" + r.operation] = r.traffic;
  return lines;
}

struct Counted {
  Lines lines;
  TrafficByOperation operators;
};

/// Of this worker in a step of the job.
Counted count_step(const Config& config) {
  const auto task = make_task(config);
  const app::HeldModel model = app::make_model(config, *task);
  const Learner& whole = model.learner;
  TrainingStep step(config, whole);
  Counters& counters = Counters::instance();
  counters.reset();
  counters.record(true);
  step(0, task->batch(0, config.train.batch));
  finish_background();  // what goes on behind the computing is counted when it has gone
  const Counted counted{lines_of(counters.records()), counters.by_operation()};
  counters.record(false);
  return counted;
}

/// Of the model's parameters on one of the workers.
std::int64_t elements_on(int rank, const Config& config) {
  const Partition mesh = Partition::simulated(8, rank).grid(layout_axes(config.layout));
  const models::MinGptConfig shape{.layers = config.model.layers,
                                   .heads = config.model.heads,
                                   .width = config.model.width,
                                   .vocabulary = 10,
                                   .context = config.model.context};
  const models::MinGpt model(spaces::one_d(mesh), shape);
  std::int64_t sum = 0;
  for (const Parameter& parameter : model.parameters()) {
    std::int64_t held = 1;
    for (const std::int64_t n : parameter.space().local_shape()) held *= n;
    sum += held;
  }
  return sum;
}

/// All that this many workers allow, with one or two of them sharing the batch.
std::vector<Config> layouts_of(int workers) {
  std::vector<Config> all;
  for (int dp = 1; dp <= std::min(workers, 2); ++dp) {
    for (int sp = 1; dp * sp <= workers; ++sp) {
      if (workers % (dp * sp) != 0) continue;
      for (const char* sequence : {"none", "ring", "ulysses"}) {
        for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
          Config config = adder(dp, workers / (dp * sp));
          config.model.layers = 1;
          config.layout.sp = sp;
          config.layout.sequence = sequence;
          config.layout.tensor = tensor;
          config.layout.zero = static_cast<std::int64_t>(all.size()) % 4;
          config.layout.recompute = all.size() % 3 == 1   ? "blocks"
                                    : all.size() % 3 == 2 ? "attention"
                                                          : "none";
          config.layout.recompute_pieces = all.size() % 6 == 1;
          try {
            check_config(config, workers);
            all.push_back(config);
          } catch (const Error&) {
            // not with so many
          }
        }
      }
    }
  }
  // Pipelines, with what else the workers allow, in parts that the batch does not divide into.
  const std::vector<const char*> schedules{"one_f_one_b", "zb_v", "gpipe", "interleaved"};
  for (std::size_t i = 0; i < schedules.size() && workers > 1; ++i) {
    const int pp = workers % 2 == 0 ? 2 : 3;
    Config config = adder(workers / pp, 1);
    if (i % 2 == 1) std::swap(config.layout.dp, config.layout.tp);
    config.layout.pp = pp;
    config.layout.zero = static_cast<std::int64_t>(i);
    config.pipeline.schedule = schedules[i];
    config.train.micro_batches = i == 3 ? pp : 2;
    config.model.tied = i > 1;
    const std::vector<const char*> kinds{"gpt2", "gptj", "llama", "mixtral"};
    config.model.kind = kinds[i];
    if (i > 0) config.model.width = 12;
    if (i == 3) config.model.layers = 3;  // with what is before and behind them as many as there are stages
    check_config(config, workers);
    all.push_back(config);
  }
  return all;
}

/// What this layout parallelizes beyond the batch, such as "2d, ring"; '-' what one worker has.
std::string kind_of(const Config::Layout& layout) {
  return concat(layout.tp > 1 ? layout.tensor : "-", ", ", layout.sp > 1 ? layout.sequence : "-");
}

/// The kinds that this many workers must have.
std::set<std::string> kinds_on(int workers) {
  if (workers == 1) return {"-, -"};
  std::set<std::string> kinds{"1d, -", "sp, -", "-, ring", "-, ulysses"};
  if (workers >= 4) kinds.insert({"2d, -", "1d, ring", "sp, ring", "1d, ulysses", "sp, ulysses"});
  if (workers >= 8) kinds.insert({"2.5d, -", "3d, -", "2d, ring", "2d, ulysses"});
  return kinds;
}

TEST(Explain, IsWhatEveryWorkerCountsAtEveryLayout) {
  const int size = Runtime::size();
  std::set<std::string> kinds;
  for (const Config& config : layouts_of(size)) {
    const std::string kind = kind_of(config.layout);
    SCOPED_TRACE(::testing::Message() << "layout.zero = " << config.layout.zero);
    const Counted counted = count_step(config);

    const app::StepPlan plan = app::explain(config, Runtime::rank());

    EXPECT_EQ(lines_of(plan.records), counted.lines) << plan.mesh << " " << kind;
    EXPECT_EQ(plan.operators, counted.operators) << plan.mesh << " " << kind;
    EXPECT_EQ(plan.records.empty(), size == 1) << plan.mesh << " " << kind;
    kinds.insert(kind);
  }
  EXPECT_THAT(kinds, ::testing::IsSupersetOf(kinds_on(size)));
}

/// Moves everything by MPI, and notes it.
class Noting final : public Transport {
 public:
  explicit Noting(Recorder& notes) : notes_(notes) {}
  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override {
    notes_.posted(sends, receives);
    return mpi_->post(std::move(sends), std::move(receives));
  }
  int channels() const override { return mpi_->channels(); }
  void progress() override { mpi_->progress(); }

 private:
  Recorder& notes_;
  std::unique_ptr<Transport> mpi_ = make_transport({.way = TransportSettings::Way::mpi});
};

/// The messages of a recording, without what a transport may choose: the order, and the channels of buffers.
using Messages = std::multiset<std::tuple<int, bool, int, std::int64_t, std::int64_t, int, std::uint64_t>>;

Messages messages_of(const Recording& recording) {
  Messages all;
  for (const RecordedMessage& m : recording.messages) {
    const bool of_program = m.channel > 0 && m.channel % 2 == 1;
    all.emplace(m.peer, m.sent, of_program ? m.channel : 0, of_program ? m.number : 0, m.elements,
                static_cast<int>(m.type), m.label->digest());
  }
  return all;
}

TEST(Explain, IsMessageByMessageWhatWorkersSendByMpi) {
  const std::vector<Config> all = layouts_of(Runtime::size());
  for (std::size_t i = 0; i < all.size(); i += 4) {
    Recorder notes, simulated;
    finish_background();
    auto kept = set_world_communicator(std::make_unique<Communicator>(std::make_unique<Noting>(notes)));
    count_step(all[i]);
    finish_background();
    kept = set_world_communicator(std::move(kept));

    const app::StepPlan plan = app::explain(all[i], Runtime::rank(), &simulated);

    EXPECT_EQ(messages_of(simulated.take()), messages_of(notes.take())) << plan.mesh;
  }
}

TEST(Explain, NeedsNoneOfTheLayoutsWorkers) {
  Config config = adder(4, 2);
  config.model.width = 12;
  config.train.batch = 8;

  const app::StepPlan plan = app::explain(config, 5);

  Lines lines = lines_of(plan.records);
  // 2 sequences of 6 tokens, 12 wide, over 2 workers.
  EXPECT_EQ(lines["transformer.h.1.mlp.c_proj|forward|AllReduce over tp: Partial -> Replicated"],
            (Traffic{2 * 6 * 12, 4 * 2 * 6 * 12, 1}));
  // All gradients in one bucket over 4 workers: its pieces but for this worker's, then that three times.
  const std::int64_t n = elements_on(5, config);
  const std::int64_t mine = Split::balanced(n, 4)[2].size();
  const Traffic bucket = lines["transformer.wte|backward|AllReduce of transformer.wte over dp"];
  EXPECT_EQ(bucket, (Traffic{n - mine + 3 * mine, 4 * (n + 2 * mine), 6}));
  const std::string norm = "AllReduce over dp, tp: Partial -> Replicated, Partial -> Replicated";
  EXPECT_EQ(lines["gradients|update|" + norm], (Traffic{1, 8, 1}));
  // A bucket has a layer's name, and is no part of that layer.
  Lines of_wte = lines_of(of_layer(plan, "transformer.wte").records);
  EXPECT_EQ(of_wte.count("transformer.wte|backward|AllReduce of transformer.wte over dp"), 0U);
  EXPECT_GT(of_wte.size(), 0U);
  EXPECT_EQ(plan.mesh, "(dp=4, tp=2)");
}

/// 3 sequences of 6 tokens, 15 wide, in fp32; over 2 workers in pieces of the width.
TEST(Explain, SaysWhatRegionsKeepUntilBackward) {
  Config config = adder(1, 2);
  config.layout.recompute = "blocks";
  const app::StepPlan plan = app::explain(config, 1);
  EXPECT_EQ(plan.regions, (std::vector<RegionBytes>{{"transformer.h.0", 4 * 3 * 6 * 15},
                                                    {"transformer.h.1", 4 * 3 * 6 * 15}}));
  EXPECT_THAT(to_string(plan),
              ::testing::HasSubstr("runs again in backward, and keeps 1,080 bytes until then\n"));
  config.layout.recompute_pieces = true;
  config.layout.recompute_every = 2;
  EXPECT_EQ(app::explain(config, 1).regions, (std::vector<RegionBytes>{{"transformer.h.0", 4 * 3 * 6 * 7}}));
}

/// 3 sequences of 6 tokens, 15 wide, in two micro-batches; the second worker has a block, a norm of 15 and
/// 10 logits.
TEST(Explain, SaysWhatAWorkerDoesInAPipeline) {
  Config config = adder(1, 1);
  config.layout.pp = 2;
  config.train.micro_batches = 2;
  const std::int64_t block = 12 * 15 * 15 + 13 * 15, held = block + 2 * 15 + 10 * 15;
  EXPECT_THAT(to_string(app::explain(config, 1)),
              ::testing::EndsWith(concat(
                  "stage 1 on (dp=1, tp=1), ranks 1: transformer.h.1, transformer.ln_f, lm_head\n"
                  "worker 1  .  F0 B0 F1 B1\n"
                  "F3: micro-batch 3; F forward, B backward, . idle\n"
                  "one_f_one_b, 2 micro-batches: bubble 33.3 % if all passes take as long\n"
                  "it holds ",
                  grouped(held), " elements of parameters, ", grouped(4 * held),
                  " bytes, and at most 1 micro-batches' activations of a stage\n"
                  "to other stages it sends forward 0 elements in 0 messages, backward 270 elements in 2 "
                  "messages\n")));
  config.pipeline.partition = "time";
  EXPECT_ERROR(app::explain(config, 1), "measures time on the job's workers", "pipeline.names");
}

/// What is sent to experts and back in a simulation is what is expected of a gate that chooses all equally
/// often, and the most there can be stands beside it.
TEST(Explain, SaysHowManyRowsGoToExperts) {
  for (const char* like : {"dp", "tp"}) {
    Config config = adder(2, 1);
    config.layout.ep = 2;
    config.layout.experts = like;
    config.model.kind = "mixtral";
    config.model.activation = "silu";
    config.model.width = 12;
    config.model.dropout = 0;
    config.model.experts = 4;
    config.train.batch = 8;

    const app::StepPlan plan = app::explain(config, 1);

    const double n = 8 * 6 / 4.0;  // tokens that a worker sends to experts
    ASSERT_EQ(plan.experts.size(), 2U);
    for (const app::RowsOfExperts& each : plan.experts) {
      EXPECT_EQ(each.expected.sent, n) << "two choices of each, of which half are here";
      EXPECT_EQ(each.expected.received, n);
      EXPECT_EQ(each.expected.computed, 2 * n);
      EXPECT_EQ(each.most.sent, 2 * n);
      EXPECT_EQ(each.most.received, 2 * n);
      EXPECT_EQ(each.most.computed, 4 * n);
    }
    std::int64_t elements = 0;
    for (const TrafficRecord& record : plan.records) {
      const bool forward = record.origin.phase == Phase::forward;
      if (forward && record.origin.layer == plan.experts[1].layer &&
          record.operation.starts_with("RouteRows"))
        elements += record.traffic.elements;
    }
    EXPECT_EQ(elements, static_cast<std::int64_t>(n * (12 + 1) + n * 12)) << "rows, gates, and results";
    EXPECT_THAT(to_string(plan),
                ::testing::ContainsRegex("block_sparse_moe.experts +12 +24 +12 +24 +24 +48\n"));
    EXPECT_EQ(of_layer(plan, "model.layers.1").experts.size(), 1U);
    EXPECT_THAT(to_json(plan), ::testing::HasSubstr("\"rows_of_experts\""));
  }
}

/// An expert takes at most its capacity. Where an even load is above it, all workers together send what is
/// expected, though the gate keeps the first one's choices.
TEST(Explain, SaysHowManyRowsACapacityLetsGo) {
  Config config = adder(1, 1);
  config.layout.ep = 2;
  config.model.kind = "gpt2_moe";
  config.model.experts = 4;
  config.train.batch = 8;  // 48 tokens, each with 2 choices
  const auto expect = [&](double factor, const ExpertRows& expected, const ExpertRows& most) {
    config.model.capacity_factor = factor;
    std::int64_t elements = 0;
    for (const int rank : {0, 1}) {
      const app::StepPlan plan = app::explain(config, rank);
      ASSERT_EQ(plan.experts.size(), 1U);
      const auto equal = [&](const ExpertRows& is, const ExpertRows& right) {
        EXPECT_DOUBLE_EQ(is.sent, right.sent) << factor;
        EXPECT_DOUBLE_EQ(is.received, right.received) << factor;
        EXPECT_DOUBLE_EQ(is.computed, right.computed) << factor;
      };
      equal(plan.experts[0].expected, expected);
      equal(plan.experts[0].most, most);
      for (const TrafficRecord& record : plan.records)
        if (record.origin.phase == Phase::forward && record.operation.starts_with("RouteRows"))
          elements += record.traffic.elements;
    }
    EXPECT_EQ(elements, 2 * std::llround(expected.sent * (15 + 1) + expected.received * 15));
  };
  expect(0, {24, 24, 48}, {48, 48, 96});
  expect(1, {24, 24, 48}, {48, 48, 48});
  expect(0.5, {12, 12, 24}, {24, 24, 24});
  expect(0.01, {4, 4, 8}, {8, 8, 8});
}

TEST(Explain, PrintsLinesAndSums) {
  const std::string text = to_string(app::explain(adder(2, 2), 3));

  EXPECT_THAT(text, ::testing::StartsWith("minGPT: 2 layers, 3 heads, width 15, vocabulary 10, context 6\n"
                                          "in one step, rank 3 of (dp=2, tp=2) sends\n"));
  for (const char* phase : {"forward", "backward", "update"}) {
    EXPECT_THAT(text, ::testing::ContainsRegex(std::string("\n  in all +") + phase +
                                               " +[0-9,]+ elements +[0-9]+ messages\n"));
  }
  EXPECT_THAT(text, ::testing::ContainsRegex(
                        "\n  transformer.wte +forward +AllReduce over tp: Partial -> Replicated +"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n  loss +forward +AllMax over tp +"));
}

TEST(Explain, SaysWhichRanksThereAre) {
  EXPECT_ERROR(app::explain(adder(2, 2), 4), "there is no rank 4 among 4 workers", "2 x 1 x 2");
  EXPECT_ERROR(app::explain(adder(2, 2), -1), "there is no rank -1 among 4 workers");
}

}  // namespace
}  // namespace riesz::testing
