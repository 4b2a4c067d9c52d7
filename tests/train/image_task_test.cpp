// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/image_task.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../io/images/idx_bytes.h"
#include "../io/images/png_bytes.h"
#include "../io/temporary_folder.h"
#include "riesz/comm/error.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::idx_bytes;
using testing::png_bytes;
using testing::TemporaryFolder;

constexpr int kSize = 4, kLearnt = 20, kMeasured = 6;

/// Pictures of one pixel that is not black, whose value is the picture's number, in the second row and
/// column; the label is the number mod 5.
class Pictures : public ::testing::Test {
 protected:
  Pictures() {
    write("train", 0, kLearnt);
    write("t10k", kLearnt, kMeasured);
    config.model.kind = "vit";
    config.model.image = kSize;
    config.data.task = "images";
    config.data.images = folder.path().string();
    config.data.mean = "0";
    config.data.deviation = "1";
  }

  void write(const std::string& part, int first, int count) const {
    std::string pixels(static_cast<std::size_t>(count * kSize * kSize), '\0'), labels;
    for (int i = 0; i < count; ++i) {
      pixels[static_cast<std::size_t>(i * kSize * kSize + kSize + 1)] = static_cast<char>(first + i + 1);
      labels += static_cast<char>((first + i) % 5);
    }
    folder.write(part + "-images-idx3-ubyte", idx_bytes({count, kSize, kSize}, pixels));
    folder.write(part + "-labels-idx1-ubyte", idx_bytes({count}, labels));
  }

  /// The numbers of a batch's pictures, and where in each its pixel is.
  static std::map<int, int> seen(const Batch& batch) {
    std::map<int, int> places;
    const at::Tensor bytes = (batch.inputs.whole() * 255).round().to(at::kLong).flatten(1);
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto place = at::argmax(bytes[row]).item<std::int64_t>();
      const auto number = bytes[row].sum().item<std::int64_t>() - 1;
      EXPECT_EQ(batch.targets.whole()[row].item<std::int64_t>(), number % 5);
      places[static_cast<int>(number)] = static_cast<int>(place);
    }
    return places;
  }

  TemporaryFolder folder;
  Config config;
};

TEST_F(Pictures, EachEpochSeesAllOnceInAnOrderOfItsOwn) {
  const ImageTask task(config);
  std::vector<at::Tensor> orders;
  for (const std::int64_t epoch : {0, 1}) {
    const Batch all = task.batch(epoch * kLearnt, kLearnt);
    const std::map<int, int> places = seen(all);
    EXPECT_EQ(places.size(), static_cast<std::size_t>(kLearnt));
    EXPECT_EQ(places.rbegin()->first, kLearnt - 1);
    for (const auto& [number, place] : places) EXPECT_EQ(place, kSize + 1);
    orders.push_back(all.inputs.whole());
    EXPECT_TRUE(task.batch(epoch * kLearnt + 15, kLearnt / 4)
                    .inputs.whole()
                    .equal(all.inputs.whole().narrow(0, 15, 5)))
        << "a place, not a batch, is drawn";
  }
  EXPECT_FALSE(orders[0].equal(orders[1]));
  EXPECT_EQ(task.vocabulary(), 5);
  EXPECT_EQ(task.unit().text(8), "8 images");
  config.origins["data.held_out"] = kCommandLine;  // which the folder says
  EXPECT_ERROR(ImageTask(config), "data.held_out = 0.1 (on the command line) is not read: data.images = ",
               "says itself which images are held out");
}

TEST_F(Pictures, LabelsAreNumberedAsTheModelHasThem) {
  const ImageTask named(config);
  config.labels = {"3", "0", "4", "1", "2"};
  const ImageTask task(config);
  const at::Tensor number = at::tensor({1, 3, 4, 0, 2}, at::kLong);
  EXPECT_TRUE(task.batch(0, kLearnt)
                  .targets.whole()
                  .equal(number.index_select(0, named.batch(0, kLearnt).targets.whole())));
  EXPECT_TRUE(task.held_out(0, 6).targets.whole().equal(
      number.index_select(0, named.held_out(0, 6).targets.whole())));
  EXPECT_EQ(task.label_names(), config.labels);

  config.labels = {"3", "0", "4", "1", "1", "cat"};
  EXPECT_ERROR(ImageTask(config), "the images alone have \"2\", the classifier alone \"1\", \"cat\";");
}

TEST_F(Pictures, HaveTwoLabelsAtLeast) {
  const TemporaryFolder images;
  images.write("train/cat.png", "by its name");
  config.data.images = images.path().string();
  EXPECT_ERROR(ImageTask(config), "all images to learn from in ", " have one label, \"train\", so that");
}

TEST_F(Pictures, HeldOutAreThoseOfTheFolder) {
  const ImageTask task(config);
  const std::map<int, int> places = seen(task.held_out(0, task.held_out()));
  EXPECT_EQ(places.size(), static_cast<std::size_t>(kMeasured));
  EXPECT_EQ(places.begin()->first, kLearnt);
  EXPECT_TRUE(task.held_out(2, 4).inputs.whole().equal(task.held_out(0, 6).inputs.whole().narrow(0, 2, 2)));
}

TEST_F(Pictures, AreShiftedAndMirroredByTheirPlaceAlone) {
  config.data.shift = 1;
  config.data.mirror = true;
  const ImageTask task(config);
  std::set<int> places;
  for (std::int64_t step = 0; step < 30; ++step) {
    for (const auto& [number, place] : seen(task.batch(10 * step, 10))) places.insert(place);
  }
  // Rows 0 to 2, from row 1; columns 0 to 2 from column 1, and 1 to 3 from the mirrored one, 2.
  EXPECT_EQ(places.size(), 12u);
  EXPECT_EQ(*places.rbegin(), 2 * kSize + 3);
  EXPECT_TRUE(task.batch(30, 10).inputs.whole().equal(ImageTask(config).batch(30, 10).inputs.whole()));
  EXPECT_TRUE(task.batch(35, 5).inputs.whole().equal(task.batch(30, 10).inputs.whole().narrow(0, 5, 5)));
  EXPECT_EQ(seen(task.held_out(0, 6)).begin()->second, kSize + 1) << "what is measured is as it is";
}

TEST_F(Pictures, AreNormalisedByChannel) {
  const at::Tensor plain = ImageTask(config).batch(0, 3).inputs.whole();
  config.model.channels = 3;
  config.data.mean = "0.25";
  config.data.deviation = "0.5, 0.25,0.125";
  const at::Tensor inputs = ImageTask(config).batch(0, 3).inputs.whole();
  ASSERT_EQ(inputs.sizes(), (std::vector<std::int64_t>{3, 3, kSize, kSize}));
  for (int channel = 0; channel < 3; ++channel)
    EXPECT_TRUE(inputs.select(1, channel).equal((plain.select(1, 0) - 0.25) * (2 << channel)));

  config.data.mean = "0.1,0.2";
  EXPECT_ERROR(ImageTask(config), "data.mean = \"0.1,0.2\"",
               " has 2 numbers, but there are model.channels = 3");
  config.data.mean = "a";
  EXPECT_ERROR(ImageTask(config), "\"a\" is no number");
}

/// Of label "a" or "b", of one value.
void write_picture(const TemporaryFolder& folder, const std::string& name, int value) {
  folder.write(name, png_bytes(at::full({3, kSize, kSize}, value, at::kByte), PNG_FORMAT_RGB));
}

TEST_F(Pictures, DamagedOnesAreLeftOutAsIfTheyWereNotThere) {
  const std::string damaged = "\x89PNG\r\n\x1a\n";
  const TemporaryFolder with, without;
  for (int i = 0; i < 9; ++i) {
    const std::string name = concat("train/", i % 2 == 0 ? "a/" : "b/", i, ".png");
    const bool bad = i == 1 || i == 4 || i == 8;
    if (bad) with.write(name, damaged);
    for (const TemporaryFolder* both : {&with, &without}) {
      if (!bad) write_picture(*both, name, 20 * i);
      if (i < 3) write_picture(*both, concat("val/a/", i, ".png"), 20 * i + 5);
    }
  }
  with.write("val/b/0.png", damaged);
  config.data.images = with.path().string();
  EXPECT_ERROR(ImageTask(config), "cannot read the image \"", "/train/a/4.png\": ",
               "; in all 4 of 13 images cannot be read: ", "or set data.skip_damaged=true");

  config.data.skip_damaged = true;
  const ImageTask task(config);
  config.data.images = without.path().string();
  const ImageTask other(config);
  EXPECT_EQ(task.digest(), other.digest());
  EXPECT_EQ(task.held_out(), 3);
  const Batch batch = task.batch(0, 15), expected = other.batch(0, 15);
  EXPECT_TRUE(batch.inputs.whole().equal(expected.inputs.whole()));
  EXPECT_TRUE(batch.targets.whole().equal(expected.targets.whole()));
  EXPECT_THAT(task.describe(), HasSubstr("of 2 labels: 6 to train on, 3 held out; left out as they cannot be "
                                         "read: 3 to train on, 1 held out, the first \""));
  EXPECT_THAT(task.describe(), HasSubstr("/train/a/4.png\""));
  EXPECT_THAT(other.describe(), EndsWith("6 to train on, 3 held out"));

  for (int i = 0; i < 3; ++i) with.write(concat("val/a/", i, ".png"), damaged);
  config.data.images = with.path().string();
  EXPECT_ERROR(ImageTask(config), "/val/a/0.png\"", "no image is left to measure by: none of 4 can be read");
  for (int i = 0; i < 9; ++i) with.write(concat("train/", i % 2 == 0 ? "a/" : "b/", i, ".png"), damaged);
  EXPECT_ERROR(ImageTask(config), "/train/a/0.png\"", "no image is left to train on: none of 9 can be read");
}

TEST_F(Pictures, AFileThatIsMendedChangesNoOthersSide) {
  const TemporaryFolder images;
  for (int i = 0; i < 20; ++i) write_picture(images, concat(i % 2 == 0 ? "a/" : "b/", i, ".png"), 10 * i);
  config.data.images = images.path().string();
  config.data.held_out = 0.3;
  config.data.skip_damaged = true;
  const auto values = [](const Batch& batch) {
    const at::Tensor found = (batch.inputs.whole().select(1, 0).select(1, 0).select(1, 0) * 255).round();
    std::set<int> numbers;
    for (std::int64_t row = 0; row < batch.rows(); ++row) numbers.insert(found[row].item<int>() / 10);
    return numbers;
  };
  const ImageTask whole(config);
  std::set<int> learnt = values(whole.batch(0, 14)), measured = values(whole.held_out(0, 6));
  for (const int number : {*learnt.begin(), *measured.begin()})
    images.write(concat(number % 2 == 0 ? "a/" : "b/", number, ".png"), "\x89PNG\r\n\x1a\n");
  const ImageTask some(config);
  learnt.erase(learnt.begin());
  measured.erase(measured.begin());
  EXPECT_EQ(values(some.batch(0, 13)), learnt);
  EXPECT_EQ(values(some.held_out(0, 5)), measured);
}

TEST_F(Pictures, ReportCountsRightLabels) {
  const ImageTask task(config);
  // Of labels 0 1 2 3 4 0 it is right but for the two of 0, which it takes for 1.
  const Predict model = [](const Rows& rows) {
    const at::Tensor inputs = rows.whole();
    const at::Tensor number = (inputs * 255).round().to(at::kLong).flatten(1).sum(1) - 1;
    return at::one_hot((number % 5).clamp_min(1), 5).to(at::kFloat);
  };

  const std::vector<std::string> lines = task.report(model, {});

  EXPECT_EQ(lines[0], "held-out images with the right label: 66.67 %  (4 of 6)");
  EXPECT_EQ(lines[1], "of each label:");
  EXPECT_EQ(lines[2], "  0  0.00 %  (0 of 2)");
  EXPECT_EQ(lines.size(), 7u);
}

TEST_F(Pictures, DigestIsOfAllBytes) {
  const std::uint64_t before = ImageTask(config).digest();
  EXPECT_EQ(ImageTask(config).digest(), before);
  write("t10k", kLearnt + 1, kMeasured);
  EXPECT_NE(ImageTask(config).digest(), before);
  EXPECT_THAT(ImageTask(config).describe(), HasSubstr("of 5 labels: 20 to train on, 6 held out"));
}

}  // namespace
}  // namespace riesz
