// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/token_set.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../temporary_folder.h"
#include "riesz/io/draws.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/sequences.h"
#include "riesz/io/tokens/tokenize.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;
using Numbers = std::vector<std::int64_t>;

/// Documents of lines of random words, in tokens of a vocabulary that is learnt from them, in parts of 2 KB.
class TokensOfLines : public ::testing::Test {
 protected:
  TokensOfLines() {
    Draws draws(4, "text");
    std::string text;
    for (int line = 0; line < 1500; ++line) {
      std::string& document = documents.emplace_back();
      for (std::uint64_t words = draws.below(9); words > 0; --words)
        document += std::string(1 + draws.below(5), static_cast<char>('a' + draws.below(4))) + " ";
      text += document + "\n";
    }
    const Partition self = Partition::world().subset({0});
    tokenize(self, {.files = {folder.write("text", text)},
                    .folder = folder.path() / "made",
                    .vocabulary = 300,
                    .documents = {.kind = Documents::line},
                    .bytes = 2048});
    const Tokenizer tokenizer = read_tokenizer(folder.path() / "made");
    for (const std::string& document : documents) {
      if (document.empty()) continue;
      begins.push_back(static_cast<std::int64_t>(ids.size()));
      for (const TokenId id : tokenizer.encode(document)) ids.push_back(id);
      ids.push_back(*tokenizer.end());
    }
    begins.push_back(static_cast<std::int64_t>(ids.size()));
    set = std::make_shared<const TokenSet>(folder.path() / "made");
  }

  TemporaryFolder folder;
  std::vector<std::string> documents;
  Numbers ids, begins;  // of all documents, and of each document, and where all end
  std::shared_ptr<const TokenSet> set;
};

TEST_F(TokensOfLines, AreOneRowWhateverThePartsAre) {
  ASSERT_GT(set->parts(), 5u);
  ASSERT_EQ(set->tokens(), static_cast<std::int64_t>(ids.size()));
  ASSERT_EQ(set->documents(), static_cast<std::int64_t>(begins.size()) - 1);
  Numbers read(ids.size());
  set->read(0, set->tokens(), read.data());
  EXPECT_EQ(read, ids);
  for (std::int64_t d = 0; d < set->documents(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    ASSERT_EQ(set->document(d), (Interval{begins[at], begins[at + 1]}));
    ASSERT_EQ(set->document_from(begins[at]), d);
    ASSERT_EQ(set->document_from(begins[at] + 1), d + 1);
  }
  EXPECT_ERROR(set->read(set->tokens() - 1, 2, read.data()), "tokens", "of");
}

TEST_F(TokensOfLines, AreSplitWhereADocumentBegins) {
  const auto [trained, held_out] = split_off(*set, 0.1);

  EXPECT_EQ(trained.begin, 0);
  EXPECT_EQ(trained.end, held_out.begin);
  EXPECT_EQ(held_out.end, set->tokens());
  EXPECT_NE(std::find(begins.begin(), begins.end(), trained.end), begins.end());
  EXPECT_NEAR(static_cast<double>(held_out.size()), 0.1 * static_cast<double>(set->tokens()), 40);
  EXPECT_EQ(split_off(*set, 0).second.size(), 0);
}

TEST_F(TokensOfLines, ArePackedIntoSequences) {
  const Interval some{13, set->tokens() - 5};
  const Sequences sequences(set, some, 7, Packing::packed);

  ASSERT_EQ(sequences.size(), (some.size() - 1) / 7);
  for (std::int64_t i = 0; i < sequences.size(); ++i) {
    Numbers read(7), next(7);
    sequences.read(i, read.data(), next.data());
    const auto from = ids.begin() + some.begin + 7 * i;
    ASSERT_EQ(read, Numbers(from, from + 7));
    ASSERT_EQ(next, Numbers(from + 1, from + 8));
  }
  EXPECT_ERROR(Sequences(set, {3, 10}, 7, Packing::packed), "the 7 tokens 3 to 10", "hold no sequence of 7");
}

TEST_F(TokensOfLines, OrLieInSequencesOneByOne) {
  const auto [trained, held_out] = split_off(*set, 0.2);
  for (const Interval& some : {trained, held_out}) {
    const Sequences sequences(set, some, 7, Packing::one_by_one);
    std::int64_t number = 0;
    for (std::size_t d = 0; d + 1 < begins.size(); ++d) {
      if (begins[d] < some.begin || begins[d] >= some.end) continue;
      for (std::int64_t at = begins[d]; at + 1 < begins[d + 1]; at += 7, ++number) {
        const std::int64_t count = std::min<std::int64_t>(7, begins[d + 1] - at - 1);
        Numbers right(ids.begin() + at, ids.begin() + at + count);
        Numbers after(ids.begin() + at + 1, ids.begin() + at + 1 + count);
        right.resize(7, 0);
        after.resize(7, -1);
        Numbers read(7), next(7);
        sequences.read(number, read.data(), next.data());
        ASSERT_EQ(read, right) << number;
        ASSERT_EQ(next, after) << number;
      }
    }
    EXPECT_EQ(sequences.size(), number);
    EXPECT_ERROR(sequences.read(number, nullptr, nullptr), "of");
  }
}

TEST_F(TokensOfLines, SayWhichFileIsCutOffOrChanged) {
  const std::string tokens = folder.read("made/part-00001.tokens"),
                    ends = folder.read("made/part-00002.ends");
  std::string other = tokens;
  other[5] = static_cast<char>(other[5] ^ 1);

  for (std::size_t part = 0; part < set->parts(); ++part) set->check_part(part);
  folder.write("made/part-00001.tokens", tokens.substr(0, tokens.size() - 2));
  EXPECT_ERROR(TokenSet(folder.path() / "made"), "part-00001.tokens\" has", "it was cut off or changed");
  folder.write("made/part-00001.tokens", other);
  EXPECT_ERROR(TokenSet(folder.path() / "made").check_part(1),
               "part-00001.tokens\" has changed since it was made");
  folder.write("made/part-00001.tokens", tokens);
  std::filesystem::remove(folder.path() / "made/part-00002.ends");
  EXPECT_ERROR(TokenSet(folder.path() / "made"), "cannot read", "part-00002.ends");
  folder.write("made/part-00002.ends", ends);
  EXPECT_EQ(TokenSet(folder.path() / "made").digest(), set->digest());
  EXPECT_ERROR(TokenSet(folder.path()), "has no tokens.json: riesz tokenize has made none there");
  folder.write("other/tokens.json", R"({"format": "riesz tokens 2"})");
  EXPECT_ERROR(TokenSet(folder.path() / "other"), "is of the format \"riesz tokens 2\"; this program reads");
  folder.write("other/tokens.json", R"({"format": "riesz tokens 1"})");
  EXPECT_ERROR(TokenSet(folder.path() / "other"), "other/tokens.json\" has no \"vocabulary\"");
}

/// As many tokens as make their bytes overflow, behind an empty file, are refused: no memory has them.
TEST_F(TokensOfLines, AreNotMoreThanAFileCanHave) {
  nlohmann::json index = nlohmann::json::parse(folder.read("made/tokens.json"));
  index["bytes_of_a_token"] = 4;
  index["parts"].erase(index["parts"].begin() + 1, index["parts"].end());
  for (const std::uint64_t count : {std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
    index["parts"][0]["tokens"] = count;
    folder.write("made/tokens.json", index.dump());
    folder.write("made/part-00000.tokens", "");
    EXPECT_ERROR(TokenSet(folder.path() / "made"), "made/tokens.json\".parts[0].tokens is",
                 std::to_string(count), "it must be an integer from 0 to");
  }
  index["parts"][0]["name"] = "../part-00000";
  folder.write("made/tokens.json", index.dump());
  EXPECT_ERROR(TokenSet(folder.path() / "made"), ".parts[0].name is no file's name");
}

/// A part that becomes shorter, or other, while it is in use is an error that says where: no signal.
TEST_F(TokensOfLines, AreNotReadFromAPartThatIsCutOffMeanwhile) {
  std::vector<std::int64_t> read(static_cast<std::size_t>(set->tokens()));
  set->read(0, 5, read.data());  // of the first part, which stays open
  std::filesystem::resize_file(folder.path() / "made/part-00000.tokens", 8);
  EXPECT_ERROR(set->read(2, 20, read.data()), "cannot read", "part-00000.tokens\": it ends at byte 8");
  EXPECT_ERROR(set->read(2, 2, read.data()), "part-00000.tokens\" has changed since it was first");
  const std::string other = folder.read("made/part-00001.tokens");
  std::filesystem::remove(folder.path() / "made/part-00001.tokens");
  folder.write("made/part-00001.tokens", other);
  EXPECT_ERROR(set->read(0, set->tokens(), read.data()), "cannot read");
  const nlohmann::json index = nlohmann::json::parse(folder.read("made/tokens.json"));
  const auto second = index["parts"][0]["tokens"].get<std::int64_t>();
  EXPECT_ERROR(set->read(second, 5, read.data()), "part-00001.tokens\" has changed since it was first");
}

/// Ends that run backward or beyond the part, as no tokenizer writes them.
TEST_F(TokensOfLines, EndWhereTheirFileSaysWithinThePart) {
  const std::string good = folder.read("made/part-00000.ends");
  std::string bad = good;
  bad[3] = 1;
  folder.write("made/part-00000.ends", bad);
  EXPECT_ERROR(TokenSet(folder.path() / "made").document(0),
               "part-00000.ends\" says that document 0 ends after");
  bad = good;
  bad[0] = static_cast<char>(bad[8] + 1);
  folder.write("made/part-00000.ends", bad);
  EXPECT_ERROR(TokenSet(folder.path() / "made").document(1), "document 1 ends before it begins");
}

}  // namespace
}  // namespace riesz
