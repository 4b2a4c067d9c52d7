// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/byte_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "riesz/io/draws.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using Merges = std::vector<std::pair<TokenId, TokenId>>;

/// Bytes a to d, and merges of random pairs of what there is.
struct Drawn {
  std::vector<std::string> words{"a", "b", "c", "d"};
  Merges merges;

  explicit Drawn(std::uint64_t seed) {
    Draws draws(seed, "merges");
    for (int i = 0; i < 60; ++i) {
      const auto left = static_cast<TokenId>(draws.below(words.size()));
      const auto right = static_cast<TokenId>(draws.below(words.size()));
      const std::string whole = words[left] + words[right];
      if (whole.size() > 9 || std::find(words.begin(), words.end(), whole) != words.end()) continue;
      words.push_back(whole);
      merges.emplace_back(left, right);
    }
  }

  TextTable<TokenId> table() const {
    TextTable<TokenId> all;
    for (const std::string& word : words) all.emplace(word, static_cast<TokenId>(all.size()));
    return all;
  }

  /// The definition: of the first merge that any neighbours have, the leftmost, again and again.
  std::vector<TokenId> encode(const std::string& word) const {
    std::vector<TokenId> ids;
    for (const char byte : word) ids.push_back(static_cast<TokenId>(byte - 'a'));
    for (;;) {
      auto best = merges.end();
      std::size_t place = 0;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto found = std::find(merges.begin(), merges.end(), std::pair(ids[i], ids[i + 1]));
        if (found < best) {
          best = found;
          place = i;
        }
      }
      if (best == merges.end()) return ids;
      ids[place] = static_cast<TokenId>(4 + (best - merges.begin()));
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
  }
};

TEST(BytePairs, JoinTheFirstMergeAgainAndAgain) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Drawn drawn(seed);
    BytePairs pairs(drawn.table(), drawn.merges, {});
    Draws draws(seed, "words");
    for (int i = 0; i < 20; ++i) {
      std::string word(draws.below(i < 18 ? 14 : 90), 'a');
      for (char& byte : word) byte = static_cast<char>('a' + draws.below(4));
      for (int time = 0; time < 2; ++time) {  // met for the first time, and known
        std::vector<TokenId> ids{7};
        pairs.encode(word, ids);
        ids.erase(ids.begin());
        ASSERT_EQ(ids, drawn.encode(word)) << word << ", seed " << seed;
      }
    }
  }
}

TEST(BytePairs, TakeWholeWordsOrSayWhatIsUnknownAsTold) {
  const TextTable<TokenId> table = {{"a", 0}, {"b", 1}, {"ab", 2}, {"abb", 3}};
  const auto encode = [&](const std::string& word, const BytePairs::Options& options) {
    std::vector<TokenId> ids;
    BytePairs(table, {{0, 1}}, options).encode(word, ids);
    return ids;
  };

  EXPECT_EQ(encode("abb", {}), (std::vector<TokenId>{2, 1}));
  EXPECT_EQ(encode("abb", {.whole_words = true}), (std::vector<TokenId>{3}));
  EXPECT_EQ(encode("axyb", {.unknown = 9}), (std::vector<TokenId>{0, 9, 9, 1}));
  EXPECT_EQ(encode("axyb", {.unknown = 9, .fuse_unknown = true}), (std::vector<TokenId>{0, 9, 1}));
  EXPECT_ERROR(encode("ax", {}), "no token for the byte 120 of \"ax\"");
  EXPECT_ERROR(BytePairs(table, {{1, 0}}, {}), "merge 0 of \"b\" and \"a\"", "no token for what it makes");
}

}  // namespace
}  // namespace riesz
