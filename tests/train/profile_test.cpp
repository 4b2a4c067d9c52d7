// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/profile.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/primitives/between.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/loop.h"
#include "riesz/train/loop/session.h"
#include "riesz/train/report/clock_offsets.h"
#include "riesz/train/report/trace_file.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using nlohmann::json;
using testing::SharedFolder;
using testing::SmallGpt;

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// What left this rank, by operator, as the events say.
std::map<std::string, Traffic> sent_in(const json& trace, int rank) {
  std::map<std::string, Traffic> sent;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("pid") != rank || !event.contains("args") || !event["args"].contains("bytes")) continue;
    const json& args = event["args"];
    sent[event["name"]] += {args["elements"], args["bytes"], args["messages"]};
  }
  return sent;
}

/// Of each thread, the spans that lie neither apart nor one inside the other.
int crossings(const json& trace) {
  std::map<std::pair<int, int>, std::vector<double>> open;  // the ends
  int found = 0;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    auto& ends = open[{event["pid"], event["tid"]}];
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    while (!ends.empty() && ends.back() <= begin + 1e-3) ends.pop_back();
    if (!ends.empty() && end > ends.back() + 2e-3) ++found;
    ends.push_back(end);
  }
  return found;
}

std::set<std::string> names_of_rank(const json& trace, int rank, const char* category) {
  std::set<std::string> names;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("pid") == rank && event.value("cat", "") == category) names.insert(event["name"]);
  return names;
}

struct Steps {
  const char* name;
  int zero;
  bool tensor;
};

/// Two steps of a loop of one's own.
json trace_of_two_steps(const Steps& of, std::map<std::string, Traffic>& counted) {
  const SharedFolder folder;
  Config config = SmallGpt::one_digit();
  config.layout.zero = of.zero;
  const int n = Runtime::size();
  SmallGpt small(of.tensor ? 1 : n, of.tensor ? n : 1);
  const Learner model = small.model();
  const AdderTask task(config);
  TrainingStep train_step(config, model);
  const Partition world = Partition::world();

  const std::filesystem::path path = folder.path() / "trace.json";
  const std::vector<std::int64_t> offsets = clock_offsets(world, clock_identity());
  finish_background();
  Trace::start();
  Counters::instance().reset();
  for (std::int64_t i = 0; i < 2; ++i) {
    const Range step(RangeKind::step, "step " + std::to_string(i + 1));
    train_step(i, task.batch(5 * i, 5));
  }
  finish_background();
  const TraceLog log = Trace::stop();
  const std::string failed = write_trace(world, log, offsets, path);  // empty if written
  EXPECT_EQ(failed, "");
  counted = Counters::instance().by_operation();
  wait_for_all(world);
  return read_json(path);
}

TEST(Profile, HasEveryByteThatTheCountersHave) {
  for (const Steps& each :
       {Steps{"data parallel", 0, false}, Steps{"ZeRO 3", 3, false}, Steps{"tensor", 0, true}}) {
    SCOPED_TRACE(each.name);
    std::map<std::string, Traffic> counted;

    const json trace = trace_of_two_steps(each, counted);

    EXPECT_EQ(sent_in(trace, Runtime::rank()), counted);
    EXPECT_EQ(counted.empty(), Runtime::size() == 1);
    EXPECT_EQ(crossings(trace), 0);
    for (int rank = 0; rank < Runtime::size(); ++rank) {
      EXPECT_EQ(names_of_rank(trace, rank, "step"), (std::set<std::string>{"step 1", "step 2"}));
      EXPECT_THAT(names_of_rank(trace, rank, "phase"),
                  ::testing::IsSupersetOf({"forward", "backward", "optimizer"}));
      EXPECT_THAT(names_of_rank(trace, rank, "layer"),
                  ::testing::IsSupersetOf({"transformer.h.0.attn.c_attn", "lm_head"}));
    }
  }
}

TEST(Profile, HasEveryOperatorOnce) {
  const Partition world = Partition::world();
  const Space X = Space(world, {6}).partial("world");
  const Operator A = between(X, Space(world, {6}).copied("world"));
  const Vector x(X, at::ones({6}));
  Trace::start();
  for (int i = 0; i < 5; ++i) A(x);

  const TraceLog log = Trace::stop();

  std::int64_t ranges = 0;
  for (const TraceEvent& event : log.events) {
    if (event.kind != RangeKind::operation) continue;
    EXPECT_EQ(event.name, "AllReduce");
    EXPECT_THAT(event.detail, ::testing::HasSubstr("(6) on"));
    EXPECT_GT(event.end, event.begin);
    EXPECT_EQ(event.sent.bytes, 4 * A.steps().front()->traffic(world.rank()).elements);
    ++ranges;
  }
  EXPECT_EQ(ranges, Runtime::size() == 1 ? ranges : 5);
}

Config of_session(const SharedFolder& folder, const std::string& profile) {
  Config config = SmallGpt::one_digit();
  config.quiet = true;
  config.output.folder = (folder.path() / "run").string();
  config.checkpoint.save = false;
  config.train.profile = profile;
  return config;
}

void train(const Config& config) {
  SmallGpt small(Runtime::size(), 1);
  ::testing::internal::CaptureStdout();
  run_session(config, small.model(), AdderTask(config), {});
  const std::string report = ::testing::internal::GetCapturedStdout();
  if (Runtime::rank() != 0) return;
  const bool says = report.find("profile of steps") != report.npos;
  EXPECT_EQ(says, !config.train.profile.empty());
  EXPECT_EQ(report.find("it waited for others for") != report.npos, says);
}

TEST(Profile, IsOfTheStepsThatTheKeyNames) {
  const SharedFolder folder;
  train(of_session(folder, "3:4"));
  wait_for_all(Partition::world());

  const json trace = read_json(folder.path() / "run" / "trace.json");

  for (int rank = 0; rank < Runtime::size(); ++rank) {
    EXPECT_EQ(names_of_rank(trace, rank, "step"), (std::set<std::string>{"step 3", "step 4"}));
    EXPECT_EQ(names_of_rank(trace, rank, "phase"),
              (std::set<std::string>{"data", "forward", "backward", "reduce", "optimizer", "evaluation",
                                     "checkpoint"}));
    EXPECT_THAT(names_of_rank(trace, rank, "kernel"), ::testing::IsSupersetOf({"aten::mm", "aten::add"}));
  }
  EXPECT_EQ(crossings(trace), 0);
}

TEST(Profile, EndsWithTheTraining) {
  const SharedFolder folder;
  train(of_session(folder, "6:100"));
  wait_for_all(Partition::world());

  const json trace = read_json(folder.path() / "run" / "trace.json");

  EXPECT_EQ(names_of_rank(trace, 0, "step"), std::set<std::string>{"step 6"});
}

TEST(Profile, IsNotThereWithoutTheKey) {
  const SharedFolder folder;
  train(of_session(folder, "2:3"));
  wait_for_all(Partition::world());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "run" / "trace.json"));
  wait_for_all(Partition::world());

  train(of_session(folder, ""));
  wait_for_all(Partition::world());

  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run" / "trace.json"));
  EXPECT_FALSE(Trace::under_way());
}

TEST(Profile, LeavesNoFileWhereAnErrorEndsTheTraining) {
  const SharedFolder folder;
  const Config config = of_session(folder, "2:5");
  SmallGpt small(Runtime::size(), 1);
  const auto fails = [](const Row& row) { RIESZ_CHECK(row.step < 3, "the third step"); };

  EXPECT_ERROR(run_session(config, small.model(), AdderTask(config), fails), "the third step");

  EXPECT_FALSE(Trace::under_way());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run" / "trace.json"));
}

TEST(Profile, ReportsWhatCouldNotBeWritten) {
  const SharedFolder folder;
  Trace::start();

  const std::string failed =
      write_trace(Partition::world(), Trace::stop(), clock_offsets(Partition::world(), clock_identity()),
                  folder.path() / "no_such_folder" / "trace.json");

  EXPECT_EQ(failed.find("no_such_folder") != failed.npos, Runtime::rank() == 0);
}

TEST(Profile, SaysWhatWasDropped) {
  TraceLog log{{"main"}, {}, 7, 0, 10};

  const json trace = json::parse("[" + chrome_events(log, 2, 0) + "]");

  EXPECT_EQ(trace.at(2).at("args").at("labels"), "7 events beyond the limit dropped");
}

/// As if each rank were on a host of its own; the clock is one.
TEST(Clocks, OfSeveralHostsAreCompared) {
  const std::vector<std::int64_t> same = clock_offsets(Partition::world(), "one");
  const std::vector<std::int64_t> apart = clock_offsets(Partition::world(), std::to_string(Runtime::rank()));

  EXPECT_EQ(same.size(), Runtime::rank() == 0 ? static_cast<std::size_t>(Runtime::size()) : 0u);
  for (const std::int64_t offset : same) EXPECT_EQ(offset, 0);
  for (const std::int64_t offset : apart) EXPECT_LT(std::abs(offset), 100'000'000);
}

}  // namespace
}  // namespace riesz
