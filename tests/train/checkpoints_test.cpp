// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/checkpoints.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "checkpointed.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/ignored_signals.h"
#include "riesz/train/loop/loop.h"

namespace riesz {
namespace {

using testing::Checkpointed;
using testing::files_of;
using testing::SharedFolder;
using testing::SmallGpt;
using testing::with_checkpoints;

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
    const std::vector<Row> whole = Checkpointed(p, 1, config, 6, c.type).rows;
    const auto all = checkpoints_in(folder.path() / "a");
    ASSERT_EQ(all.size(), 2u);
    const auto end = files_of(all.back().second);

    config.checkpoint.folder = (folder.path() / "b").string();
    expect_same(Checkpointed(p, 1, config, 4, c.type).rows, {whole.begin(), whole.begin() + 4}, 0, 0);
    config.resume = true;
    config.checkpoint.background = false;
    const Checkpointed again(p, 1, config, 6, c.type, 2);
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
    expect_same(Checkpointed(1, p, config, 6, c.type, 2).rows, whole, 3, 1e-12);
  }
}

/// No row is skipped or taken twice, whatever the batch, the layout and the number of micro-batches are then.
TEST(Checkpoints, GoOnInTheDataWhereTheyWere) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.train.steps = 3;
  const int p = Runtime::size();
  using Taken = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(Checkpointed(p, 1, config, 3).taken, (Taken{{0, 5}, {5, 5}, {10, 5}}));
  config.resume = true;
  config.train.steps = 6;
  config.train.batch = 7;
  config.train.micro_batches = 2;
  EXPECT_EQ(Checkpointed(1, p, config, 6).taken, (Taken{{15, 7}, {22, 7}, {29, 7}}));
  config.train.steps = 7;
  config.train.batch = 2;
  const Checkpointed third(p, 1, config, 7);
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
  EXPECT_EQ(Checkpointed(p, 1, config, 8).taken, (Taken{{14, 3}})) << "7 steps of 2";
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
  const IgnoredSignals ignored;
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
