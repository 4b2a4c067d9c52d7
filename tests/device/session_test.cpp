// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Whole trainings on a device, from the configuration to the report.
#include "riesz/train/loop/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../io/images/idx_bytes.h"
#include "../io/shared_folder.h"
#include "../train/small_gpt.h"
#include "../zero/training.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/primitives/all_max.h"
#include "riesz/testing/error.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/pretend_device/stream.h"
#include "riesz/train/data/adder_task.h"
#include "riesz/train/data/task.h"
#include "riesz/train/loop/loop.h"
#include "riesz/train/loop/step.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// A task, and the lines of its report.
struct Reported final : Task {
  explicit Reported(const Config& config) : task(make_task(config)) {}
  std::int64_t vocabulary() const override { return task->vocabulary(); }
  std::vector<std::string> label_names() const override { return task->label_names(); }
  DataUnit unit() const override { return task->unit(); }
  Batch batch(std::int64_t first, std::int64_t rows) const override { return task->batch(first, rows); }
  std::int64_t held_out() const override { return task->held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override { return task->held_out(begin, end); }
  std::string describe() const override { return task->describe(); }
  std::uint64_t digest() const override { return task->digest(); }
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override {
    return lines = task->report(model, held_out);
  }

  std::unique_ptr<Task> task;
  mutable std::vector<std::string> lines;
};

Config short_config(const std::string& task) {
  Config config = SmallGpt::one_digit();
  config.data.task = task;
  config.data.sample = 7;
  config.train.steps = 3;
  config.train.eval_every = 2;
  config.checkpoint.save = false;
  config.quiet = true;
  return config;
}

void write_for_all(const std::filesystem::path& path, const std::string& bytes) {
  if (Runtime::rank() == 0) std::ofstream(path, std::ios::binary) << bytes;
  wait_for_all(Partition::world());
}

/// The report of a training of the configuration's task.
std::vector<std::string> report_of(Config config, const Learner& model) {
  const SharedFolder folder;
  config.output.folder = (folder.path() / "run").string();
  const Reported task(config);
  ::testing::internal::CaptureStdout();
  run_session(config, model, task, {});
  ::testing::internal::GetCapturedStdout();
  return task.lines;
}

std::vector<std::string> report_of_gpt(const Config& config, at::Device device, std::int64_t vocabulary) {
  const Partition P = Partition::world().grid({{"dp", Runtime::size()}, {"tp", 1}});
  models::MinGpt gpt(spaces::one_d(P), {.layers = 1,
                                        .heads = 2,
                                        .width = 8,
                                        .vocabulary = vocabulary,
                                        .context = config.model.context,
                                        .dropout = 0});
  gpt.initialise(1, at::kDouble, device);
  return report_of(config,
                   {gpt, gpt.tokens(), gpt.targets(), [&](const Vector& ids) { return gpt(ids); }, P});
}

TEST(SessionThere, ReportsSumsAsTheCpu) {
  const Config config = short_config("adder");
  const std::vector<std::string> here = report_of_gpt(config, at::kCPU, 10);
  EXPECT_GT(here.size(), 5U);
  EXPECT_EQ(report_of_gpt(config, pretend_device(), 10), here);
}

TEST(SessionThere, ReportsASampleOfTextAsTheCpu) {
  const SharedFolder folder;
  Config config = short_config("text");
  config.model.context = 6;
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i * i % 7);
  config.data.text = (folder.path() / "text").string();
  write_for_all(config.data.text, text);
  const std::vector<std::string> here = report_of_gpt(config, at::kCPU, 256);
  EXPECT_GT(here.size(), 1U);
  EXPECT_EQ(report_of_gpt(config, pretend_device(), 256), here);
}

/// A classifier of one layer of pictures of two shades.
std::vector<std::string> report_of_pictures(const Config& config, at::Device device) {
  const Partition P = data_parallel();
  const Space X(P, {Space::any, 1, 4, 4}), Y(P, {Space::any, 2});
  Linear layer("classifier", "bcij,cijv->bv", X, Y);
  layer.initialise(1, at::kDouble, device);
  const auto logits = [&](const Vector& x) { return layer(Vector(x.space(), x.local().to(at::kDouble))); };
  return report_of(config, {layer, X, Space(P, {Space::any}), logits, P});
}

TEST(SessionThere, ReportsPicturesAsTheCpu) {
  const SharedFolder folder;
  for (const auto& [part, count] : {std::pair<std::string, int>{"train", 20}, {"t10k", 6}}) {
    std::string pixels(static_cast<std::size_t>(16 * count), '\0'), labels;
    for (int i = 0; i < count; ++i) {
      labels += static_cast<char>(i % 2);
      pixels[static_cast<std::size_t>(16 * i + 3 + 5 * (i % 2))] = static_cast<char>(200 - i);
    }
    write_for_all(folder.path() / (part + "-images-idx3-ubyte"), idx_bytes({count, 4, 4}, pixels));
    write_for_all(folder.path() / (part + "-labels-idx1-ubyte"), idx_bytes({count}, labels));
  }
  Config config = short_config("images");
  config.model.kind = "vit";
  config.model.image = 4;
  config.data.images = folder.path().string();
  config.data.mean = "0";
  config.data.deviation = "1";
  const std::vector<std::string> here = report_of_pictures(config, at::kCPU);
  EXPECT_GT(here.size(), 2U);
  EXPECT_EQ(report_of_pictures(config, pretend_device()), here);
}

struct Adding {
  Adding() : config(short_config("adder")), task(config), small(Runtime::size(), 1), model(small.model()) {
    small.gpt.initialise(1, at::kDouble, pretend_device());
  }

  Config config;
  AdderTask task;
  SmallGpt small;
  Learner model;
};

/// A bad id is an error of the call that read it, not of a later step.
TEST(EvaluationThere, ThrowsWhatItsChecksHaveFound) {
  Adding adding;
  const auto logits = adding.model.logits;
  adding.model.logits = [&](const Vector& x) { return logits(Vector(x.space(), x.local().add(10))); };
  EXPECT_ERROR(held_out_loss(adding.model, adding.task, 5, 5), "is outside the vocabulary of 10");
  EXPECT_ERROR(predict(adding.model, adding.task.batch(0, 3).inputs.whole()),
               "is outside the vocabulary of 10");
  EXPECT_NO_THROW(settle_late_checks());
}

/// Where each step is shown at once, nothing else waits for the device in a step.
TEST(TrainingThere, CountsTheTimeOfTheDevice) {
  static constexpr double kSeconds = 0.03;
  const LatenessScope latest(Lateness::latest);
  Adding adding;
  adding.config.train.eval_every = 1;
  const auto logits = adding.model.logits;
  adding.model.logits = [&](const Vector& x) {
    Predictions y = logits(x);
    if (ContextScope::current()->training)
      pretend::stream(pretend::current_stream()).add([] {
        std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
      });
    return y;
  };
  TrainingStep step(adding.config, adding.model);
  const Trained trained =
      run_training(adding.config.train, step, adding.model, adding.task, [](const Row&) {});
  EXPECT_GE(trained.seconds, 3 * kSeconds);
  const auto counted = static_cast<double>(adding.config.train.batch * adding.task.unit().each);
  for (const Row& row : trained.rows) EXPECT_LE(row.rate, counted / kSeconds);
}

}  // namespace
}  // namespace riesz::testing
