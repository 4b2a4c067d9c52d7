// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/checkpoints.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/loop.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::files_of;
using testing::SharedFolder;
using testing::SmallGpt;

/// Sums, and which rows of them were taken, as (first, how many).
struct Recorded final : Task {
  explicit Recorded(const Config& config) : sums(config) {}
  std::int64_t vocabulary() const override { return sums.vocabulary(); }
  DataUnit unit() const override { return sums.unit(); }
  Batch batch(std::int64_t first, std::int64_t rows) const override {
    taken.emplace_back(first, rows);
    return sums.batch(first, rows);
  }
  std::int64_t held_out() const override { return sums.held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override { return sums.held_out(begin, end); }
  std::string describe() const override { return sums.describe(); }
  std::uint64_t digest() const override { return sums.digest(); }
  std::vector<std::string> report(const Predict& model, double loss) const override {
    return sums.report(model, loss);
  }

  AdderTask sums;
  mutable std::vector<std::pair<std::int64_t, std::int64_t>> taken;
};

/// A training with checkpoints, of `steps` steps at most; the rows that it makes, and where it begins.
struct Session {
  Session(int dp, int tp, const Config& config, std::int64_t steps, at::ScalarType type = at::kDouble,
          std::uint64_t seed = 1) {
    SmallGpt small(dp, tp, config.model.dropout);
    small.gpt.initialise(seed, type);
    const Learner model = small.model();
    const Recorded task(config);
    TrainingStep step(config, model);
    Checkpoints checkpoints(config, model, task, step);
    beginning = checkpoints.begin();
    std::int64_t made = beginning.step;
    const auto on_step = [&](const Row& row) {
      made = row.step;
      EXPECT_EQ(checkpoints.after(row.step, row.step == config.train.steps), "");
    };
    rows = run_training(config.train, step, model, task, on_step, [&] { return made + 1 >= steps; },
                        {beginning.step, beginning.rows})
               .rows;
    EXPECT_EQ(checkpoints.wait(), "");
    taken = task.taken;
  }

  Beginning beginning;
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  std::vector<Row> rows;
};

Config with_checkpoints(const std::filesystem::path& folder) {
  Config config = SmallGpt::one_digit();
  config.model.dropout = 0.1;
  config.checkpoint.every = 3;
  config.checkpoint.folder = folder.string();
  return config;
}

void expect_same(const std::vector<Row>& rows, const std::vector<Row>& expected, std::size_t from,
                 double bound) {
  ASSERT_EQ(rows.size() + from, expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row &found = rows[i], &row = expected[from + i];
    EXPECT_EQ(found.step, row.step);
    EXPECT_EQ(found.learning_rate, row.learning_rate);
    EXPECT_NEAR(found.loss, row.loss, bound);
    EXPECT_EQ(found.held_out_loss.has_value(), row.held_out_loss.has_value());
    if (row.held_out_loss) {
      EXPECT_NEAR(*found.held_out_loss, *row.held_out_loss, bound);
    }
  }
}

/// Each optimizer, precision and kind of schedule: the same bits as the training that was not stopped, and
/// rounding elsewhere. What was written while training went on has the bytes of what it waited for.
TEST(Checkpoints, ResumeExactly) {
  const int p = Runtime::size();
  struct Case {
    const char* optimizer;
    const char* schedule;
    at::ScalarType type;
    std::int64_t zero;
  };
  for (const Case& c : {Case{"adamw", "cosine", at::kDouble, 3}, Case{"sgd", "one_cycle", at::kDouble, 1},
                        Case{"lamb", "linear", at::kDouble, 2}, Case{"adafactor", "constant", at::kDouble, 0},
                        Case{"adam", "range_test", at::kBFloat16, 2}, Case{"adamw", "cosine", at::kHalf, 1},
                        Case{"one_bit_adam", "cosine", at::kDouble, 1}}) {
    if (p > 2 && c.zero == 2) continue;
    SCOPED_TRACE(::testing::Message() << c.optimizer << ", " << c.schedule << " in " << c.type);
    const SharedFolder folder;
    Config config = with_checkpoints(folder.path() / "a");
    config.optimizer.kind = c.optimizer;
    config.optimizer.freeze = 2;
    config.schedule.kind = c.schedule;
    config.schedule.rise = config.schedule.fall = 3;
    config.layout.zero = c.zero;
    if (c.type == at::kHalf) config.precision = "fp16";
    const std::vector<Row> whole = Session(p, 1, config, 6, c.type).rows;
    const auto all = checkpoints_in(folder.path() / "a");
    ASSERT_EQ(all.size(), 2u);
    const auto end = files_of(all.back().second);

    config.checkpoint.folder = (folder.path() / "b").string();
    expect_same(Session(p, 1, config, 4, c.type).rows, {whole.begin(), whole.begin() + 4}, 0, 0);
    config.resume = true;
    config.checkpoint.background = false;
    const Session again(p, 1, config, 6, c.type, 2);
    EXPECT_EQ(again.beginning.step, 3);
    EXPECT_TRUE(again.beginning.notes.empty());
    expect_same(again.rows, whole, 3, 0);
    if (Runtime::rank() == 0) {
      EXPECT_TRUE(files_of(folder.path() / "b" / "checkpoint-6") == end);
    }

    if (c.type != at::kDouble || std::string(c.optimizer) == "one_bit_adam") continue;
    if (Runtime::rank() == 0) std::filesystem::remove_all(folder.path() / "b" / "checkpoint-6");
    wait_for_all(Partition::world());
    config.layout.zero = 3 - c.zero;
    expect_same(Session(1, p, config, 6, c.type, 2).rows, whole, 3, 1e-12);
  }
}

/// No row is skipped or taken twice, whatever the batch, the layout and the number of micro-batches are then.
TEST(Checkpoints, GoOnInTheDataWhereTheyWere) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.train.steps = 3;
  const int p = Runtime::size();
  using Taken = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(Session(p, 1, config, 3).taken, (Taken{{0, 5}, {5, 5}, {10, 5}}));
  config.resume = true;
  config.train.steps = 6;
  config.train.batch = 7;
  config.train.micro_batches = 2;
  EXPECT_EQ(Session(1, p, config, 6).taken, (Taken{{15, 7}, {22, 7}, {29, 7}}));
  config.train.steps = 7;
  config.train.batch = 2;
  const Session third(p, 1, config, 7);
  EXPECT_EQ(third.taken, (Taken{{36, 2}}));
  EXPECT_EQ(third.beginning.rows, 36);

  // A checkpoint of an earlier version does not say how many.
  const auto path = folder.path() / "checkpoint-7" / "state.json";
  if (Runtime::rank() == 0) {
    std::string text = files_of(path.parent_path())["state.json"];
    const std::size_t at = text.find("  \"rows\": 38,\n");
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(path) << text.erase(at, 14);
  }
  wait_for_all(Partition::world());
  config.train.steps = 8;
  config.train.batch = 3;
  EXPECT_EQ(Session(p, 1, config, 8).taken, (Taken{{14, 3}})) << "7 steps of 2";
}

/// State that fits by its shapes alone is refused, as is that of another step.
TEST(Checkpoints, RefuseStateThatMeansSomethingElse) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.train.steps = 3;
  config.model.heads = 2;
  config.model.width = 8;
  Session(1, Runtime::size(), config, 3);
  config.resume = true;
  config.train.steps = 4;
  const auto resumed_with = [&](const auto& change) {
    Config other = config;
    change(other);
    Session(1, Runtime::size(), other, 4);
  };
  EXPECT_ERROR(
      resumed_with([](Config& c) { c.model.heads = 4; }), "cannot go on from", "checkpoint-3\"",
      "it is of model.heads = 2, and here it is model.heads = 4 (the default); set model.heads back to 2, "
      "or train the other model in another folder");
  EXPECT_ERROR(resumed_with([](Config& c) { c.model.epsilon = 1e-6; }), "of model.epsilon = 1e-05, and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.model.hidden = 16; }), "of model.hidden = 0, and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.optimizer.kind = "sgd"; }),
               "it is of optimizer.kind = \"adamw\", and here it is optimizer.kind = \"sgd\" (the default); "
               "set optimizer.kind back to \"adamw\", or begin anew with its weights: model.from=\"",
               "checkpoint-3\", in another output.folder, without --resume");
  EXPECT_ERROR(resumed_with([](Config& c) { c.precision = "bf16"; }), "of precision = \"fp32\", and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.compute = "fp16"; }), "of compute = \"same\", and here");

  const auto renamed = [&](const char* from, const char* to) {
    if (Runtime::rank() == 0) std::filesystem::rename(folder.path() / from, folder.path() / to);
    wait_for_all(Partition::world());
  };
  renamed("checkpoint-3", "checkpoint-2");
  EXPECT_ERROR(Session(1, Runtime::size(), config, 4),
               "checkpoint-2\" is named by step 2, and its state.json says "
               "step 3; if it was renamed, name it checkpoint-3 again");
  renamed("checkpoint-2", "checkpoint-3");
  const auto same_sizes = [](Config& c) { c.model.hidden = 32, c.compute = "bf16", c.model.dropout = 0; };
  EXPECT_NO_THROW(resumed_with(same_sizes));
}

/// What is not as it was is said; what cannot be is refused, before anything is written.
TEST(Checkpoints, SayWhatIsNotAsItWas) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path() / "a");
  config.train.steps = 3;
  Config resumed = config;
  resumed.resume = true;
  EXPECT_ERROR(Session(1, Runtime::size(), resumed, 3), "there is no checkpoint in", "checkpoint.every");
  Session(1, Runtime::size(), config, 3);
  EXPECT_ERROR(Session(1, Runtime::size(), config, 3),
               "has checkpoints of an earlier training, the last of step 3", "--resume");
  Config without = config;
  EXPECT_ERROR(Session(1, Runtime::size(), without, 3), "a\" has checkpoints of an earlier training",
               "go on from it with --resume, or remove them, or choose another checkpoint.folder");
  without.output.folder = config.checkpoint.folder;
  without.checkpoint.folder = "";
  EXPECT_ERROR(Session(1, Runtime::size(), without, 3), "or choose another output.folder");
  without.checkpoint.folder = (folder.path() / "b").string();
  EXPECT_ERROR(Session(1, Runtime::size(), without, 3), "a\" has checkpoints of an earlier training",
               "--resume, without checkpoint.folder, or remove them, or choose another output.folder");
  EXPECT_ERROR(Session(1, Runtime::size(), resumed, 3), "checkpoint-3",
               "has made 3 steps of train.steps = 3");
  resumed.model.kind = "llama";
  EXPECT_ERROR(Session(1, Runtime::size(), resumed, 3), "cannot go on from", "checkpoint-3",
               "it is of model.kind = \"gpt2\", and here it is model.kind = \"llama\" (the default)");
  resumed.model.kind = "gpt2";
  resumed.optimizer.learning_rate = 0.02;
  resumed.train.seed = 2;
  EXPECT_ERROR(Session(1, Runtime::size(), resumed, 3),
               "of train.steps = 3 (the default); say more to go on; since then: optimizer.learning_rate was "
               "0.01, and is 0.02; train.seed was 1, and is 2");
  resumed.train.steps = 4;
  resumed.layout.zero = 1;
  const Session session(1, Runtime::size(), resumed, 4);
  const std::vector<std::string> notes{"optimizer.learning_rate was 0.01, and is 0.02",
                                       "train.seed was 1, and is 2", "train.steps was 3, and is 4"};
  EXPECT_EQ(session.beginning.notes, notes);
  resumed.train.steps = 5;
  resumed.optimizer.kind = "sgd";
  EXPECT_ERROR(Session(1, Runtime::size(), resumed, 4), "it is of optimizer.kind = \"adamw\", and here");
}

TEST(Checkpoints, SayWhatIsNoState) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.resume = true;
  const auto resumed_from = [&](const std::string& state) {
    const auto path = folder.path() / "checkpoint-2";
    if (Runtime::rank() == 0) std::filesystem::create_directories(path);
    if (Runtime::rank() == 0) std::ofstream(path / "state.json") << state;
    wait_for_all(Partition::world());
    Session(1, Runtime::size(), config, 3);
  };
  const std::string what = "state.json\": it is no training's state in format 1";
  EXPECT_ERROR(resumed_from(R"({"format": 1, "step": -2, "configuration": {}})"), what);
  EXPECT_ERROR(resumed_from(R"({"format": "1", "step": 2, "configuration": {}})"), what);
  EXPECT_ERROR(resumed_from(R"({"format": 1, "st)"),
               "state.json\": it is no JSON: it ends too early, after 17",
               "to go on from an earlier checkpoint, move the folder", "checkpoint-2\" away");
  EXPECT_ERROR(resumed_from(R"({"format": 1 damaged})"), "it is no JSON from byte 14 of 21 on, \"damaged}\"");
  EXPECT_ERROR(resumed_from(R"({"format": 1e999})"), "it is no JSON: a number in it is too great");
  EXPECT_ERROR(resumed_from(R"({"format": 1, "step": 2, "configuration": {}, "data": 7})"),
               "has neither model.safetensors");
}

/// Two jobs, each with results of its own, would mix what they save in one place.
TEST(Checkpoints, AreSavedWhereNoOtherJobSavesItsOwn) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path() / "a");
  SmallGpt small(1, Runtime::size());
  const Learner model = small.model();
  const AdderTask task(config);
  TrainingStep step(config, model);
  const auto begun = [&] { Checkpoints(config, model, task, step); };
  {
    const Checkpoints one(config, model, task, step);
    EXPECT_ERROR(begun(), "a\" is in use by another job");
    config.checkpoint.save = false;
    EXPECT_NO_THROW(begun());
  }
  config.checkpoint.save = true;
  EXPECT_NO_THROW(begun());
}

/// As on a full disk: training goes on, is told of which step there is none, and the next is there. It is
/// told the same where an error has ended it, and one worker, or all, look after what was begun.
TEST(Checkpoints, SayOfWhichStepThereIsNone) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit less { 100, before.rlim_max };
  for (const char* way : {"wait", "finish", "save at once"}) {
    const bool background = way != std::string("save at once");
    const SharedFolder folder;
    Config config = with_checkpoints(folder.path());
    config.checkpoint.background = background;
    SmallGpt small(1, Runtime::size());
    const Learner model = small.model();
    const AdderTask task(config);
    TrainingStep step(config, model);
    Checkpoints checkpoints(config, model, task, step);
    if (Runtime::rank() == 0) ::setrlimit(RLIMIT_FSIZE, &less);
    EXPECT_EQ(checkpoints.after(2), "");
    std::string text = checkpoints.after(3);
    EXPECT_EQ(text.empty(), background);
    text += way == std::string("finish") ? checkpoints.finish() : checkpoints.wait();
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_TRUE(text.starts_with("no checkpoint of step 3: [rank 0 of ")) << text;
    EXPECT_NE(text.find("File too large"), std::string::npos) << text;
    for (const std::int64_t made : {4, 6}) EXPECT_EQ(checkpoints.after(made), "");
    for (int twice = 0; twice < 2; ++twice) EXPECT_EQ(checkpoints.after(7, true), "");
    const auto there = checkpoints_in(folder.path());
    ASSERT_EQ(there.size(), 2u);
    EXPECT_EQ(there.front().first, 6);
    EXPECT_EQ(there.back().first, 7);
  }
  std::signal(SIGXFSZ, handler);
}

/// After an error, from which a worker finishes what was begun: the last one that is there, if it still is.
TEST(Checkpoints, SayWhichIsTheLastAfterAnError) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path() / "a");
  SmallGpt small(1, Runtime::size());
  const Learner model = small.model();
  const AdderTask task(config);
  TrainingStep step(config, model);
  {
    Checkpoints checkpoints(config, model, task, step);
    for (const std::string& text : {checkpoints.last(), checkpoints.after(3), checkpoints.finish()})
      EXPECT_EQ(text, "");
    const std::string last = checkpoints.last(), end = "a/checkpoint-3\"; --resume goes on from it";
    EXPECT_TRUE(last.starts_with("the last checkpoint is of step 3, in \"") && last.ends_with(end)) << last;
  }
  wait_for_all(Partition::world());
  config.resume = true;
  config.checkpoint.every = 0;
  Checkpoints resumed(config, model, task, step);
  resumed.begin();
  EXPECT_NE(resumed.last().find("a/checkpoint-3\""), std::string::npos) << resumed.last();
  wait_for_all(Partition::world());
  if (Runtime::rank() == 0) std::filesystem::remove_all(folder.path() / "a" / "checkpoint-3");
  wait_for_all(Partition::world());
  EXPECT_EQ(resumed.last(), "");
}

/// The new one is there, once, whatever becomes of the old ones.
TEST(Checkpoints, SayWhatOlderOneCannotBeRemoved) {
  for (const bool background : {true, false}) {
    const SharedFolder folder;
    Config config = with_checkpoints(folder.path());
    config.checkpoint.background = background;
    config.checkpoint.keep = 1;
    SmallGpt small(1, Runtime::size());
    const Learner model = small.model();
    const AdderTask task(config);
    TrainingStep step(config, model);
    Checkpoints checkpoints(config, model, task, step);
    for (const std::string& text : {checkpoints.after(3), checkpoints.wait()}) EXPECT_EQ(text, "");
    // In the way of the name under which it would be removed.
    if (Runtime::rank() == 0) std::ofstream(folder.path() / ".checkpoint-3.unfinished") << "no folder";
    wait_for_all(Partition::world());
    std::string text = checkpoints.after(6);
    text += checkpoints.wait();
    EXPECT_TRUE(text.starts_with("after the checkpoint of step 6, which is there: [rank 0 of ")) << text;
    EXPECT_NE(text.find("cannot remove"), std::string::npos) << text;
    EXPECT_NE(text.find("checkpoint-3\""), std::string::npos) << text;
    EXPECT_EQ(checkpoints.after(6, true), "");
    const auto there = checkpoints_in(folder.path());
    ASSERT_EQ(there.size(), 2u);
    EXPECT_EQ(there.back().first, 6);
  }
}

}  // namespace
}  // namespace riesz
