// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Fields and masks from files.
#include "riesz/train/data/file_tasks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "../io/arrays/bytes_read.h"
#include "../io/temporary_folder.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/arrays/write_npy.h"
#include "riesz/io/darcy_flow.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/data/cells_task.h"
#include "riesz/train/data/darcy_task.h"
#include "riesz/train/data/normalisation.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kSize = 16, kRows = 10;

/// The arrays of a task, in a folder of each rank's own.
struct Files {
  explicit Files(const std::string& task) {
    config.model.kind = task == "masks" || task == "cells" ? "unet" : "fno";
    config.model.image = kSize;
    config.data.task = task;
    config.data.count = kRows;
    config.data.held_out = 0.3;
    config.data.inputs = (folder.path() / "inputs.npy").string();
    config.data.targets = (folder.path() / "targets.npy").string();
  }
  void write(const at::Tensor& inputs, const at::Tensor& targets) const {
    write_npy(config.data.inputs, inputs);
    write_npy(config.data.targets, targets);
  }

  TemporaryFolder folder;
  Config config;
};

/// The spaces of rows of (rows, channels, height, width), or without channels, on all workers.
std::vector<Space> spaces_of(const std::vector<std::int64_t>& shape) {
  const int p = Runtime::size(), second = p % 2 == 0 ? 2 : 1;
  const Partition mesh = Partition::world().grid({{"a", p / second}, {"b", second}});
  const int width = static_cast<int>(shape.size()) - 1, height = width - 1;
  const Space any(mesh, shape);
  return {any,
          any.sharded(0, "a").sharded(0, "b"),
          any.sharded(height, "a"),
          any.sharded(width, "a"),
          any.sharded(height, "a").sharded(width, "b"),
          any.sharded(0, "b").sharded(width, "a")};
}

void expect_same(const Rows& rows, const Rows& wanted) {
  ASSERT_EQ(rows.shape(), wanted.shape());
  ASSERT_EQ(rows.type(), wanted.type());
  for (const Space& X : spaces_of(rows.shape()))
    EXPECT_TRUE(rows.in(X).local().equal(wanted.in(X).local())) << to_string(X);
}

void expect_same(const Task& task, const Task& wanted) {
  ASSERT_EQ(task.held_out(), wanted.held_out());
  for (const auto& [batch, other] : {std::pair(task.batch(5, 4), wanted.batch(5, 4)),
                                     std::pair(task.held_out(1, 3), wanted.held_out(1, 3))}) {
    expect_same(batch.inputs, other.inputs);
    expect_same(batch.targets, other.targets);
  }
}

TEST(FileTasks, MasksAreAsMadeOnes) {
  Files files("masks");
  const CellImages cells(kSize, static_cast<std::uint64_t>(files.config.data.seed));
  std::vector<std::int64_t> all(kRows);
  std::iota(all.begin(), all.end(), 0);
  files.write(cells.pixels(all, {0, kSize}, {0, kSize}),
              cells.label_maps(all, {0, kSize}, {0, kSize}).to(at::kByte));
  files.config.data.labels = CellImages::labels, files.config.data.normalise = "none";
  const MasksTask task(files.config);
  files.config.data.task = "cells";
  expect_same(task, CellsTask(files.config));
  EXPECT_EQ(task.vocabulary(), 3);
  EXPECT_EQ(task.unit().each, kSize * kSize);
}

TEST(FileTasks, FieldsAreAsMadeOnes) {
  Files files("fields");
  const at::Tensor a =
      DarcyFlow(kSize, static_cast<std::uint64_t>(files.config.data.seed)).coefficients(0, kRows);
  files.write(darcy_inputs(a).to(at::kFloat).select(1, 0), darcy_targets(a).to(at::kFloat));
  files.config.data.normalise = "none";
  const FieldsTask task(files.config);
  files.config.data.task = "darcy";
  expect_same(task, DarcyTask(files.config));
}

TEST(FileTasks, AWorkerReadsTheBytesThatItHolds) {
  Files files("fields");
  files.config.model.channels = 2;
  files.write(at::ones({kRows, 2, kSize, kSize}), at::ones({kRows, kSize, kSize}, at::kDouble));
  const FieldsTask task(files.config);
  const Batch batch = task.batch(0, 4);
  for (const Space& X : spaces_of(batch.targets.shape()))
    EXPECT_EQ(bytes_read([&] { batch.targets.in(X); }), 8 * c10::multiply_integers(X.local_shape()));
  for (const Space& X : spaces_of(batch.inputs.shape()))  // two of four channels are of the file
    EXPECT_EQ(bytes_read([&] { batch.inputs.in(X); }), 4 * c10::multiply_integers(X.local_shape()) / 2);
}

TEST(FileTasks, NumbersAreBroughtToUnitSizeByTheTrainingRows) {
  Files files("fields");
  files.config.model.channels = 2;
  const at::Tensor x =
      at::arange(kRows * 2 * kSize * kSize, at::kDouble).square().view({kRows, 2, kSize, kSize});
  const at::Tensor y = x.narrow(1, 1, 1).add(3).mul(-1);
  files.write(x, y);
  const FieldsTask task(files.config);
  const at::Tensor trained = x.narrow(0, 3, kRows - 3), wanted = y.narrow(0, 3, kRows - 3);
  const Batch held_out = task.held_out(0, 2);
  const at::Tensor shown = held_out.inputs.whole(), targets = held_out.targets.whole();
  for (std::int64_t c = 0; c < 2; ++c) {
    const at::Tensor channel = trained.select(1, c);
    const at::Tensor brought =
        x.narrow(0, 0, 2).select(1, c).sub(channel.mean()).div(channel.std(/*unbiased=*/false));
    EXPECT_LT(shown.select(1, c).sub(brought).abs().max().item<double>(), 1e-6);
  }
  const at::Tensor scaled = y.narrow(0, 0, 2).div(wanted.square().mean().sqrt());
  EXPECT_LT(targets.sub(scaled).abs().max().item<double>(), 1e-6);
  const std::string text = task.files().at("normalisation.json");
  const Normalisation again =
      read_normalisation(files.folder.write("normalisation.json", text).parent_path());
  EXPECT_EQ(to_text(again), text);
  EXPECT_NEAR(again.mean[0] / trained.select(1, 0).mean().item<double>(), 1, 1e-14);
}

/// Not the rounding of its mean, by which other numbers would be divided.
TEST(FileTasks, AConstantChannelHasDeviationOne) {
  Files files("fields");
  files.write(at::full({kRows, kSize, kSize}, 0.1, at::kDouble), at::ones({kRows, kSize, kSize}));
  const FieldsTask task(files.config);
  const Normalisation of = read_normalisation(
      files.folder.write("normalisation.json", task.files().at("normalisation.json")).parent_path());
  EXPECT_EQ(of.mean, std::vector<double>{0.1});
  EXPECT_EQ(of.deviation, std::vector<double>{1});
  EXPECT_EQ(task.held_out(0, 3).inputs.whole().select(1, 0).abs().max().item<float>(), 0);
}

TEST(FileTasks, RefuseNumbersThatAreNoneOnEveryWorker) {
  Files files("fields");
  const at::Tensor y = at::ones({kRows, kSize, kSize});
  for (const std::string normalise : {"moments", "none"}) {
    files.config.data.normalise = normalise;
    for (const std::int64_t row : {0, 7}) {  // held out, and trained on
      const at::Tensor x = at::ones({kRows, kSize, kSize});
      x[row][3][4] = std::numeric_limits<float>::quiet_NaN();
      files.write(x, y);
      EXPECT_ERROR(FieldsTask(files.config), concat("row ", row, " of"), "has a number that is not finite",
                   "in channel 0");
    }
  }
  files.write(at::full({kRows, kSize, kSize}, 1e39, at::kDouble), y);  // above fp32's
  EXPECT_ERROR(FieldsTask(files.config), "row 0 of", "or too great, in channel 0");
  files.config.data.normalise = "moments";
  EXPECT_NO_THROW(FieldsTask(files.config));
  Files masks("masks");
  const at::Tensor labels = at::zeros({kRows, kSize, kSize}, at::kByte);
  labels[8][2][5] = 2;
  masks.write(at::ones({kRows, kSize, kSize}), labels);
  EXPECT_ERROR(MasksTask(masks.config), "row 8 of", "has the label 2 at line 2, column 5",
               "from 0 to 1, as data.labels = 2 says");
}

TEST(FileTasks, RefuseTargetsWithoutANorm) {
  Files files("fields");
  const at::Tensor x = at::ones({kRows, kSize, kSize}), y = at::ones({kRows, kSize, kSize});
  y[0].zero_();
  files.write(x, y);
  for (const std::string normalise : {"moments", "none"}) {
    files.config.data.normalise = normalise;
    EXPECT_ERROR(FieldsTask(files.config), "row 0 of",
                 "targets.npy\" has numbers whose squares sum to 0, and", "leave the row out of both files");
  }
  files.write(x, at::full({kRows, kSize, kSize}, 1e-23));  // whose squares fp32 does not hold
  EXPECT_ERROR(FieldsTask(files.config), "row 0 of", "squares sum to 2.56e-44");
  files.config.data.normalise = "moments";
  EXPECT_NO_THROW(FieldsTask(files.config));
}

TEST(Normalisation, MustBeThatOfTheCheckpoint) {
  const TemporaryFolder folder;
  const Normalisation then{.mean = {3, 100}, .deviation = {1, 7}, .scale = 2};
  folder.write(Normalisation::file, to_text(then));
  const auto check = [&](const auto& change) {
    Normalisation now = then;
    change(now);
    check_normalised_alike(folder.path(), to_text(now));
  };
  EXPECT_NO_THROW(check([](Normalisation& now) { now.mean[0] += 1e-13, now.scale += 1e-13; }));
  EXPECT_ERROR(check([](Normalisation& now) { now.mean[1] = 101; }), "cannot go on from",
               "channel 1 had mean 100 and deviation 7, and now has 101 and 7; give the files");
  EXPECT_ERROR(check([](Normalisation& now) { now.deviation[0] = 4; }), "and now has 3 and 4");
  EXPECT_ERROR(check([](Normalisation& now) { now.scale = 1; }), "targets were divided by 2, and now by 1");
  EXPECT_ERROR(check([](Normalisation& now) { now.mean.clear(), now.deviation.clear(); }),
               "means of 2 channels were subtracted, and now of 0");
}

TEST(FileTasks, KeysAndFilesMustFit) {
  Files files("fields");
  const auto error = [&](
                         const at::Tensor& inputs, const at::Tensor& targets,
                         const std::function<void(Config&)>& set = [](Config&) {}) {
    files.write(inputs, targets);
    Config config = files.config;
    set(config);
    try {
      check_config(config, 1);
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
    return std::string();
  };
  const auto ones = [](std::vector<std::int64_t> shape) { return at::ones(shape); };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                : ::testing::AssertionFailure() << text;
  };
  files.config.model.modes = {4, 4};
  EXPECT_EQ(error(ones({9, 16, 16}), ones({9, 3, 16, 16})), "");
  EXPECT_TRUE(has(error(ones({9, 16, 16}), ones({8, 16, 16})), "has 9 rows, and data.targets"));
  EXPECT_TRUE(has(error(ones({9, 16, 20}), ones({9, 16, 16})),
                  "fields of 16 x 20; a model is trained on fields with as many"));
  EXPECT_TRUE(has(error(ones({9, 20, 20}), ones({9, 20, 20})), "set model.image to 20"));
  EXPECT_TRUE(has(error(ones({9, 3, 16, 16}), ones({9, 16, 16})), "has 3; set model.channels to that"));
  EXPECT_TRUE(has(error(ones({9, 16}), ones({9, 16, 16})),
                  "has the shape [9, 16]; it must be (rows, height, width) or"));
  const auto masks = [](Config& config) { config.data.task = "masks", config.model.kind = "unet"; };
  EXPECT_TRUE(has(error(ones({9, 16, 16}), ones({9, 16, 16}), masks),
                  "has elements of type Float; labels are integers"));
  EXPECT_TRUE(has(error(ones({9, 16, 16}), ones({9, 1, 16, 16}), masks),
                  "it must be (rows, height, width): a label"));
  EXPECT_TRUE(
      has(error(ones({9, 16, 16}), ones({9, 16, 16}), [](Config& config) { config.data.targets.clear(); }),
          "data.targets names no file to learn from; add data.targets=FILE.npy"));
  EXPECT_TRUE(
      has(error(ones({9, 16, 16}), ones({9, 16, 16}), [](Config& config) { config.data.inputs = "/no.npy"; }),
          "cannot read \"/no.npy\": No such file or directory; data.inputs"));
  EXPECT_TRUE(
      has(error(ones({9, 16, 16}), ones({9, 16, 16}), [](Config& config) { config.model.kind = "unet"; }),
          "set data.task to \"cells\" or \"masks\""));
  files.write(ones({2, 16, 16}), ones({2, 16, 16}));
  files.config.data.held_out = 0.1;
  EXPECT_ERROR(FieldsTask(files.config), "data.held_out = 0.1", "keeps 0 of 2 rows of");
}

}  // namespace
}  // namespace riesz::testing
