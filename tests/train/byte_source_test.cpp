// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/byte_source.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "../io/temporary_folder.h"
#include "riesz/io/tokenizer/plain_tokenizer.h"
#include "riesz/testing/error.h"
#include "riesz/train/data/token_task.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// A task on these bytes, 0, 1, 2, … by default.
class Text {
 public:
  explicit Text(std::int64_t bytes = 250, double held_out = 0.2, std::int64_t context = 8) {
    std::string counting;
    for (std::int64_t i = 0; i < bytes; ++i) counting += static_cast<char>(i);
    config_.data.task = "text";
    config_.data.text = folder_.write("bytes", counting).string();
    config_.data.held_out = held_out;
    config_.data.sample = 20;
    config_.model.context = context;
  }
  Config& config() { return config_; }
  TokenTask task() const { return TokenTask(config_); }

 private:
  TemporaryFolder folder_;
  Config config_;
};

std::vector<std::int64_t> values(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  return {data, data + flat.numel()};
}

TEST(ByteSource, BatchesAreWindowsOfTheTrainingPartAndWhatFollows) {
  const TokenTask task = Text().task();
  std::set<std::int64_t> starts;

  for (std::int64_t step = 0; step < 200; ++step) {
    const Batch batch = task.batch(5 * step, 5);
    ASSERT_EQ(batch.inputs.whole().sizes(), (std::vector<std::int64_t>{5, 8}));
    const auto ids = values(batch.inputs.whole()), targets = values(batch.targets.whole());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(targets[i], ids[i] + 1);
      EXPECT_EQ(ids[i], ids[i / 8 * 8] + static_cast<std::int64_t>(i % 8));
      EXPECT_LT(targets[i], 200);
    }
    for (std::size_t row = 0; row < 5; ++row) starts.insert(ids[8 * row]);
  }

  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 191);  // its last target is 199
}

TEST(ByteSource, ARowIsAFunctionOfSeedAndItsNumber) {
  Text text;
  const TokenTask task = text.task();
  text.config().train.seed = 9;

  EXPECT_TRUE(task.batch(4, 3).inputs.whole().equal(task.batch(4, 3).inputs.whole()));
  EXPECT_TRUE(task.batch(5, 2).inputs.whole().equal(task.batch(4, 3).inputs.whole().narrow(0, 1, 2)));
  EXPECT_FALSE(task.batch(4, 3).inputs.whole().equal(task.batch(5, 3).inputs.whole()));
  EXPECT_FALSE(task.batch(4, 3).inputs.whole().equal(text.task().batch(4, 3).inputs.whole()));
}

TEST(ByteSource, HeldOutWindowsAreFixedAndDoNotOverlap) {
  const TokenTask task = Text().task();

  ASSERT_EQ(task.held_out(), 6);  // (50 − 1)/8
  const Batch all = task.held_out(0, 6);
  const auto ids = values(all.inputs.whole()), targets = values(all.targets.whole());

  std::set<std::int64_t> seen(ids.begin(), ids.end());
  EXPECT_EQ(seen.size(), 48u);
  EXPECT_EQ(*seen.begin(), 200);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(targets[i], ids[i] + 1);
  EXPECT_TRUE(task.held_out(2, 4).inputs.whole().equal(all.inputs.whole().narrow(0, 2, 2)));
}

TEST(ByteSource, ReportsBitsPerByteAndWritesOn) {
  Text text;
  text.config().data.temperature = 0;
  // A model that counts on from 'A' to 'z'.
  const Predict counts = [](const Rows& rows) {
    const at::Tensor ids = rows.whole();
    EXPECT_LE(ids.size(1), 8);
    at::Tensor logits = at::zeros({1, 256});
    const auto last = ids.select(1, ids.size(1) - 1).item<std::int64_t>();
    logits[0][last >= 'A' && last < 'z' ? last + 1 : 'A'] = 1.0;
    return logits;
  };

  const std::vector<std::string> report = text.task().report(counts, {3 * std::numbers::ln2});

  EXPECT_EQ(report[0], "held-out perplexity: 8.0000 (3.0000 bits per byte)");
  ASSERT_EQ(report.size(), 3u);
  EXPECT_EQ(report[2], "  | ABCDEFGHIJKLMNOPQRST");
}

TEST(ByteSource, TheTemperatureSpreadsWhatItWrites) {
  Text text;
  text.config().data.sample = 300;
  const Predict prefers_a = [](const Rows&) {
    at::Tensor logits = at::full({1, 256}, -1e9);
    logits[0]['a'] = 1.0;
    logits[0]['b'] = 0.0;
    return logits;
  };
  const auto count_b = [&](double temperature) {
    text.config().data.temperature = temperature;
    const std::string written = text.task().report(prefers_a, {}).back();
    return std::count(written.begin(), written.end(), 'b');
  };

  EXPECT_EQ(count_b(0), 0);
  EXPECT_EQ(count_b(0.05), 0);
  EXPECT_NEAR(static_cast<double>(count_b(1)), 300 / (1 + std::numbers::e), 40);
  EXPECT_NEAR(static_cast<double>(count_b(10)), 300 / (1 + std::exp(0.1)), 40);
}

TEST(ByteSource, NamesAFileThatIsTooShort) {
  EXPECT_NO_THROW(Text(90, 0.1, 8).task());
  EXPECT_ERROR(Text(80, 0.1, 8).task(), "is too short", "80 bytes", "8 held out", "model.context = 8");
  EXPECT_ERROR(Text(1, 0.1, 8).task(), "is too short");
}

/// So what `riesz generate` reads from the checkpoint is what was trained on.
TEST(ByteSource, HasTheTokensOfItsTokenizer) {
  Text text(256, 0.2);
  const ByteSource source(text.config());
  std::string all;
  std::vector<TokenId> expected;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte), expected.push_back(static_cast<TokenId>(byte));

  EXPECT_EQ(source.tokenizer().encode(all), expected);
  EXPECT_EQ(source.tokenizer().size(), source.vocabulary());
  EXPECT_EQ(source.first_held_out(3), source.tokenizer().encode(all.substr(205, 3)));
}

TEST(ByteSource, ItsDigestTellsTextsApart) {
  EXPECT_EQ(Text(250).task().digest(), Text(250).task().digest());
  EXPECT_NE(Text(250).task().digest(), Text(251).task().digest());
}

}  // namespace
}  // namespace riesz
