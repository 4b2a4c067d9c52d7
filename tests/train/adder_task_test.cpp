// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/adder_task.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "riesz/testing/error.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;

Config config() {
  Config config;
  config.data.held_out = 0.05;
  return config;
}

std::vector<std::int64_t> row(const at::Tensor& rows, std::int64_t i) {
  const at::Tensor one = rows.select(0, i).contiguous();
  const auto* data = one.const_data_ptr<std::int64_t>();
  return {data, data + one.numel()};
}

/// The number of the sum that a sequence asks for.
std::int64_t sum_of(const std::vector<std::int64_t>& ids) {
  return 1000 * ids[0] + 100 * ids[1] + 10 * ids[2] + ids[3];
}

TEST(AdderTask, TheSplitHasEverySumOnce) {
  const AdderTask task(config());

  std::vector<std::int64_t> all = task.training_sums();
  all.insert(all.end(), task.held_out_sums().begin(), task.held_out_sums().end());
  std::sort(all.begin(), all.end());

  EXPECT_EQ(task.held_out(), 500);
  ASSERT_EQ(all.size(), 10000u);
  for (std::int64_t sum = 0; sum < 10000; ++sum) ASSERT_EQ(all[static_cast<std::size_t>(sum)], sum);
}

TEST(AdderTask, TheSeedDecidesTheSplit) {
  Config other = config();
  other.train.seed = 2;

  EXPECT_EQ(AdderTask(config()).held_out_sums(), AdderTask(config()).held_out_sums());
  EXPECT_NE(AdderTask(config()).held_out_sums(), AdderTask(other).held_out_sums());
}

TEST(AdderTask, OnlyTheAnswerCounts) {
  const AdderTask task(config());

  const Batch batch = task.batch(12, 4);

  ASSERT_EQ(batch.inputs.whole().sizes(), (std::vector<std::int64_t>{4, 6}));
  ASSERT_EQ(batch.targets.whole().sizes(), (std::vector<std::int64_t>{4, 6}));
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto ids = row(batch.inputs.whole(), i), targets = row(batch.targets.whole(), i);
    const std::int64_t a = 10 * ids[0] + ids[1], b = 10 * ids[2] + ids[3];
    EXPECT_EQ(targets[0] + targets[1] + targets[2], -3);
    EXPECT_EQ(targets[3] + 10 * targets[4] + 100 * targets[5], a + b);
    EXPECT_EQ(ids[4], targets[3]);
    EXPECT_EQ(ids[5], targets[4]);
  }
}

/// One row of a tensor is contiguous as it lies, unlike two.
TEST(AdderTask, ABatchOfOneSumIsARowOfALargerOne) {
  const AdderTask task(config());
  const Batch two = task.batch(0, 2), one = task.batch(0, 1), held_out = task.held_out(0, 1);

  EXPECT_EQ(row(one.inputs.whole(), 0), row(two.inputs.whole(), 0));
  EXPECT_EQ(row(one.targets.whole(), 0), row(two.targets.whole(), 0));
  EXPECT_EQ(row(held_out.inputs.whole(), 0), row(task.held_out(0, 2).inputs.whole(), 0));
  EXPECT_EQ(row(held_out.targets.whole(), 0), row(task.held_out(0, 2).targets.whole(), 0));
}

TEST(AdderTask, AnEpochVisitsEveryTrainingSumOnceInItsOwnOrder) {
  const AdderTask task(config());
  const std::set<std::int64_t> training(task.training_sums().begin(), task.training_sums().end());
  const auto epoch = [&](std::int64_t first_step) {
    std::vector<std::int64_t> sums;
    for (std::int64_t step = first_step; step < first_step + 10; ++step) {
      const at::Tensor ids = task.batch(step * 950, 950).inputs.whole();
      for (std::int64_t i = 0; i < 950; ++i) sums.push_back(sum_of(row(ids, i)));
    }
    return sums;
  };

  const std::vector<std::int64_t> first = epoch(0), second = epoch(10);

  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()), training);
  EXPECT_EQ(std::set<std::int64_t>(second.begin(), second.end()), training);
  EXPECT_NE(first, second);
}

TEST(AdderTask, ABatchIsAFunctionOfItsPlace) {
  const AdderTask task(config());

  const at::Tensor late = task.batch(80 * 128, 128).inputs.whole();  // over the end of an epoch
  task.batch(3 * 128, 128);

  EXPECT_TRUE(task.batch(80 * 128, 128).inputs.whole().equal(late));
}

TEST(AdderTask, ReportsExactAnswers) {
  const AdderTask task(config());
  // A model that adds, but says 7 for the last digit of 0 + b.
  const Predict adds = [](const Rows& rows) {
    const at::Tensor ids = rows.whole();
    at::Tensor logits = at::full({ids.size(0), 10}, -1.0);
    for (std::int64_t i = 0; i < ids.size(0); ++i) {
      const auto known = row(ids, i);
      const std::int64_t a = 10 * known[0] + known[1], b = 10 * known[2] + known[3];
      std::int64_t answer = a + b;
      for (std::size_t digit = 4; digit < known.size(); ++digit) answer /= 10;
      logits[i][a == 0 && known.size() == 4 ? 7 : answer % 10] = 1.0;
    }
    return logits;
  };
  std::int64_t wrong = 0, wrong_held_out = 0;
  for (std::int64_t b = 0; b < 100; ++b) {
    wrong += b % 10 != 7;
    wrong_held_out +=
        b % 10 != 7 && std::count(task.held_out_sums().begin(), task.held_out_sums().end(), b) == 1;
  }

  const std::vector<std::string> report = task.report(adds, {});

  ASSERT_EQ(wrong, 90);
  EXPECT_THAT(report[1], HasSubstr("(" + std::to_string(9500 - wrong + wrong_held_out) + " of 9500)"));
  EXPECT_THAT(report[2], HasSubstr("(" + std::to_string(500 - wrong_held_out) + " of 500)"));
  EXPECT_THAT(report[3], HasSubstr("99.10 %  (9910 of 10000)"));
  EXPECT_THAT(report[5], HasSubstr(" = "));
}

TEST(AdderTask, RefusesASplitWithAnEmptyPart) {
  Config small = config();
  small.data.digits = 1;
  small.data.held_out = 0.001;
  EXPECT_ERROR(AdderTask{small}, "data.held_out = 0.001", "0 of 100 sums");
}

}  // namespace
}  // namespace riesz
