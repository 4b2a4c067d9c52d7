// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Which checkpoints are there after which step: the best and the last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/file.h"
#include "riesz/testing/error.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/loop/checkpoints.h"
#include "riesz/train/loop/ignored_signals.h"
#include "riesz/train/loop/run_folder.h"
#include "small_gpt.h"

namespace riesz {
namespace {

using testing::SharedFolder;
using testing::SmallGpt;

/// The steps of the checkpoints in a folder.
std::vector<std::int64_t> steps_in(const std::filesystem::path& folder) {
  wait_for_all(Partition::world());
  std::vector<std::int64_t> steps;
  for (const auto& [step, path] : checkpoints_in(folder)) steps.push_back(step);
  wait_for_all(Partition::world());
  return steps;
}

/// A training whose steps are not made; the held-out losses are told.
struct Told {
  explicit Told(const Config& config)
      : small(1, Runtime::size()),
        model(small.model()),
        task(config),
        step(config, model),
        checkpoints(config, model, task, step) {
    checkpoints.begin();
  }
  /// What is there after it.
  std::vector<std::int64_t> after(std::int64_t number, std::optional<double> held_out_loss = {},
                                  bool last = false) {
    EXPECT_EQ(checkpoints.after(number, last, held_out_loss), "");
    EXPECT_EQ(checkpoints.wait(), "");
    return steps_in(folder);
  }

  SmallGpt small;
  Learner model;
  AdderTask task;
  TrainingStep step;
  Checkpoints checkpoints;
  std::filesystem::path folder;
};

using Steps = std::vector<std::int64_t>;

Config with_the_best_alone(const std::filesystem::path& folder) {
  Config config = SmallGpt::one_digit();
  config.checkpoint.folder = folder.string();
  config.checkpoint.keep = 1;
  return config;
}

/// The best by held-out loss stays whatever is kept else.
TEST(KeptCheckpoints, KeepTheBestAndTheLast) {
  for (const bool background : {true, false}) {
    const SharedFolder folder;
    Config config = with_the_best_alone(folder.path());
    config.checkpoint.background = background;
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(1, 3.0), Steps{1});
    EXPECT_EQ(told.after(2, 2.0), Steps{2});
    const auto before = Counters::instance().by_operation();
    EXPECT_EQ(told.checkpoints.after(4), "");
    EXPECT_TRUE(Counters::instance().by_operation() == before) << "nothing is sent where nothing is measured";
    EXPECT_EQ(told.after(3, 2.5), Steps{2});
    EXPECT_EQ(told.after(5, 2.0), Steps{2}) << "no better";
    EXPECT_EQ(told.after(6, std::nan("")), Steps{2});
    EXPECT_EQ(told.after(6, {}, true), (Steps{2, 6}));
    const auto model = model_checkpoint_in(folder.path());
    ASSERT_TRUE(model);
    EXPECT_TRUE(model->best && model->step == 2 && model->last_step == 6);
    wait_for_all(Partition::world());
  }
}

/// The last bits of a held-out loss may differ among processors: the first worker's decide.
TEST(KeptCheckpoints, AreTheBestByTheFirstWorkersLoss) {
  const bool first = Runtime::rank() == 0;
  for (const bool background : {true, false}) {
    const SharedFolder folder;
    Config config = with_the_best_alone(folder.path());
    config.checkpoint.background = background;
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(1, 3.0), Steps{1});
    EXPECT_EQ(told.after(2, first ? 2.0 : 3.5), Steps{2}) << "the best for the first worker alone";
    EXPECT_EQ(told.after(3, first ? 2.5 : 1.0), Steps{2}) << "the best for the others alone";
  }
}

TEST(KeptCheckpoints, KnowTheBestWhenResumed) {
  const SharedFolder folder;
  Config config = with_the_best_alone(folder.path());
  {
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(2, 2.0), Steps{2});
    EXPECT_EQ(told.after(4, 2.5, true), (Steps{2, 4}));
  }
  config.resume = true;
  {
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(5, 2.2), (Steps{2, 4}));
    EXPECT_EQ(told.after(5, {}, true), (Steps{2, 5}));
  }
  {
    Config other = config;  // another part is held out: the losses say nothing of each other
    other.train.seed = 2;
    Told told(other);
    told.folder = folder.path();
    EXPECT_EQ(told.after(6, 2.2), Steps{6});
  }
}

/// The one before stays the best, and is not removed.
TEST(KeptCheckpoints, ABestOneThatCannotBeSavedIsNone) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const IgnoredSignals ignored;
  const struct rlimit less { 100, before.rlim_max };
  for (const bool background : {true, false}) {
    const SharedFolder folder;
    Config config = with_the_best_alone(folder.path());
    config.checkpoint.background = background;
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(1, 3.0), Steps{1});
    if (Runtime::rank() == 0) ::setrlimit(RLIMIT_FSIZE, &less);
    std::string why = told.checkpoints.after(2, false, 1.0);
    why += told.checkpoints.wait();
    if (Runtime::rank() == 0) ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_THAT(why, ::testing::HasSubstr("no checkpoint of step 2"));
    EXPECT_EQ(steps_in(folder.path()), Steps{1});
    EXPECT_EQ(told.after(3, 2.0), Steps{3}) << "the best that there is";
  }
}

/// Without checkpoint.every a training may begin anew where one has ended. Nothing of that is lost.
TEST(KeptCheckpoints, AreSetAsideByATrainingThatBeginsAnew) {
  const SharedFolder folder;
  Config config = with_the_best_alone("");
  config.output.folder = folder.path().string();
  for (int number = 1; number <= 2; ++number) {
    Told told(config);
    told.folder = folder.path();
    EXPECT_EQ(told.after(1, {}, true), Steps{1});
    if (Runtime::rank() == 0) std::ofstream(folder.path() / "loss.csv") << number;
    wait_for_all(Partition::world());
  }
  const Told told(config);
  EXPECT_EQ(steps_in(folder.path()), Steps{});
  for (const int number : {1, 2}) {
    const auto earlier = folder.path() / concat("earlier-", number);
    EXPECT_EQ(steps_in(earlier), Steps{1});
    if (Runtime::rank() == 0) {
      EXPECT_EQ(bytes_of_file(earlier / "loss.csv"), std::to_string(number));
    }
  }
  config.checkpoint.save = false;
  EXPECT_NO_THROW(Told{config});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "earlier-3"));
}

TEST(KeptCheckpoints, AreNoneWhereNoneIsWanted) {
  const SharedFolder folder;
  Config config = with_the_best_alone(folder.path());
  config.checkpoint.best = false;
  Told last_alone(config);
  last_alone.folder = folder.path();
  EXPECT_EQ(last_alone.after(1, 3.0), Steps{});
  EXPECT_EQ(last_alone.after(2, 2.0, true), Steps{2});
  config.checkpoint.save = false;
  config.checkpoint.folder = (folder.path() / "none").string();
  Told none(config);
  EXPECT_EQ(none.after(1, 3.0, true), Steps{});
  EXPECT_NO_THROW(none.checkpoints.check_saved(1));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none"));
}

}  // namespace
}  // namespace riesz
