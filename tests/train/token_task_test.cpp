// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/data/token_task.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "../io/temporary_folder.h"
#include "riesz/io/tokens/tokenize.h"
#include "riesz/testing/error.h"
#include "riesz/train/data/folder_source.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Tokens of two texts, of letters and of digits, each document a line; the vocabulary is the bytes and the
/// end.
class Tokens : public ::testing::Test {
 protected:
  Tokens() {
    make("letters", 'a', 900);
    make("digits", '0', 300);
    config.data.task = "tokens";
    config.data.held_out = 0.2;
    config.data.sample = 12;
    config.model.context = 6;
  }

  void make(const std::string& name, char first, int lines, int vocabulary = 257) {
    std::string text;
    for (int line = 0; line < lines; ++line)
      text +=
          std::string(static_cast<std::size_t>(3 + line % 11), static_cast<char>(first + line % 7)) + "\n";
    tokenize(Partition::world().subset({0}), {.files = {folder.write(name + ".txt", text)},
                                              .folder = folder.path() / name,
                                              .vocabulary = vocabulary,
                                              .documents = {.kind = Documents::line},
                                              .bytes = 1024});
  }

  TokenTask task(const std::string& tokens) {
    config.data.tokens = tokens;
    return TokenTask(config);
  }
  std::string path(const char* name) const { return (folder.path() / name).string(); }

  TemporaryFolder folder;
  Config config;
};

std::vector<std::int64_t> row_of(const at::Tensor& rows, std::int64_t row) {
  const auto* begin = rows.const_data_ptr<std::int64_t>() + row * rows.size(1);
  return {begin, begin + rows.size(1)};
}

TEST_F(Tokens, ComeInTheSameOrderHoweverTheyAreCutIntoSteps) {
  const TokenTask mixed = task(path("letters") + "=3," + path("digits") + "=1");
  int digits = 0;

  for (std::int64_t step = 0; step < 60; ++step) {
    const Batch two = mixed.batch(step / 2 * 2, 2);
    const Batch one = mixed.batch(step, 1);
    ASSERT_EQ(row_of(one.inputs.whole(), 0), row_of(two.inputs.whole(), step % 2))
        << "the place is one number";
    ASSERT_EQ(row_of(one.targets.whole(), 0), row_of(two.targets.whole(), step % 2));
    const auto ids = row_of(one.inputs.whole(), 0), targets = row_of(one.targets.whole(), 0);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) ASSERT_EQ(targets[i], ids[i + 1]);
    // Numbers go by the alphabet: "!" is 0, "0" is 15, and "a" 64. No sequence is of ends alone.
    digits += std::any_of(ids.begin(), ids.end(), [](std::int64_t id) { return id >= 15 && id < 25; });
  }
  EXPECT_EQ(digits, 15) << "one in four";
  EXPECT_EQ(mixed.vocabulary(), 257);
  EXPECT_EQ(vocabulary_of_tokens(config), 257);
  EXPECT_THAT(mixed.describe(), HasSubstr("digits\": 2,688 (358 sequences to train on"));
}

/// Of other shares they are other data, which a training that goes on says.
TEST_F(Tokens, HaveADigestOfTheirShares) {
  const auto digest = [&](const char* one, const char* other) {
    return task(path("letters") + one + "," + path("digits") + other).digest();
  };
  EXPECT_NE(digest("=3", "=1"), digest("=1", "=3"));
  EXPECT_EQ(digest("=3", "=1"), digest("=6", "=2"));
  EXPECT_EQ(task(path("letters")).digest(), task(path("letters") + "=7").digest());
}

TEST_F(Tokens, AreHeldOutInAFixedOrder) {
  const TokenTask packed = task(path("letters"));
  config.data.packing = "one_by_one";
  const TokenTask single = task(path("letters"));

  const Batch all = packed.held_out(0, packed.held_out()), some = packed.held_out(5, 9);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(row_of(some.inputs.whole(), i), row_of(all.inputs.whole(), 5 + i));
  EXPECT_NEAR(static_cast<double>(all.inputs.whole().numel()), 0.2 * 900 * 9, 100);
  EXPECT_NE(packed.held_out(), single.held_out());
  const Batch filled = single.held_out(0, single.held_out());
  for (std::int64_t row = 0; row < single.held_out(); ++row) {
    const auto ids = row_of(filled.inputs.whole(), row), targets = row_of(filled.targets.whole(), row);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] < 0) {
        ASSERT_EQ(targets[i], -1);
      } else if (i + 1 < ids.size() && targets[i + 1] >= 0) {
        ASSERT_EQ(targets[i], ids[i + 1]);
      }
    }
    ASSERT_EQ(std::count(ids.begin(), ids.end(), 256), 0) << "a document's end is only a target";
  }
}

TEST_F(Tokens, AreReportedAsPerplexityAndText) {
  const TokenTask letters = task(path("letters"));
  // Of a model with more rows than there are tokens, as GPT-J has.
  const Predict always_b = [&](const Rows& rows) {
    const at::Tensor ids = rows.whole();
    const at::Tensor logits = at::full({ids.size(0), 264}, -1e9);
    logits.select(1, 65).fill_(0);
    logits.select(1, 260).fill_(9);
    return logits;
  };

  const std::vector<std::string> lines = letters.report(always_b, {2 * std::numbers::ln2});

  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "held-out perplexity: 4.0000 (2.0000 bits per token)");
  EXPECT_EQ(lines[1], "after the first 3 held-out tokens, the model writes:");
  EXPECT_EQ(lines[2], "  | bbbbbbbbbbbb");
}

TEST_F(Tokens, SayWhatIsWrongWithTheirFolders) {
  make("other", 'a', 300, 258);
  EXPECT_ERROR(task(path("letters") + "," + path("other")), "have different tokenizers");
  EXPECT_ERROR(task(path("letters") + "=x"), "is no folder and its share, such as A=0.5");
  EXPECT_ERROR(task(path("letters") + ","), "names no folder at");
  EXPECT_ERROR(task(path("none")), "has no tokens.json");
  config.model.context = 1000;
  EXPECT_ERROR(task(path("digits")), "hold no sequence of 1000", "a shorter context");
  std::string tokens = folder.read("letters/part-00002.tokens");
  tokens[0] = static_cast<char>(tokens[0] ^ 1);
  folder.write("letters/part-00002.tokens", tokens);
  EXPECT_ERROR(task(path("letters")), "part-00002.tokens\" has changed since it was made");
}

}  // namespace
}  // namespace riesz
