// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "riesz/testing/error.h"

namespace riesz {
namespace {

using Words = std::vector<std::string>;

Words words_of(const PreTokenizer& cuts, const std::string& text) {
  Words words;
  cuts.each_word(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

Words cut(const std::string& text, const std::string& pattern, Behavior behavior = Behavior::isolated,
          bool invert = false) {
  return words_of(PreTokenizer({SplitStep{Pattern(pattern), behavior, invert}}), text);
}

TEST(PreTokenizer, CutsAsGpt2Does) {
  const std::string& pattern = PreTokenizer::gpt2_pattern();

  EXPECT_EQ(cut("Hello  world's 12x", pattern), (Words{"Hello", " ", " world", "'s", " 12", "x"}));
  EXPECT_EQ(cut("\n\n  é!? ½ ", pattern), (Words{"\n\n ", " é", "!?", " ½", " "}));
  EXPECT_EQ(cut("日本\u3000語", pattern), (Words{"日本", "\u3000", "語"}));
  // U+180E was white space until Unicode 6.3.
  EXPECT_EQ(cut("a \u180e b", pattern), (Words{"a", " \u180e", " b"}));
}

TEST(PreTokenizer, KeepsOrJoinsMatchesAsTold) {
  EXPECT_EQ(cut("a--b-", "-", Behavior::isolated), (Words{"a", "-", "-", "b", "-"}));
  EXPECT_EQ(cut("a--b-", "-", Behavior::removed), (Words{"a", "b"}));
  EXPECT_EQ(cut("a--b-", "-", Behavior::contiguous), (Words{"a", "--", "b", "-"}));
  EXPECT_EQ(cut("-a--b-", "-", Behavior::merged_with_previous), (Words{"-", "a-", "-", "b-"}));
  EXPECT_EQ(cut("-a--b-", "-", Behavior::merged_with_next), (Words{"-a", "-", "-b", "-"}));
  EXPECT_EQ(cut("a--b-", "-", Behavior::removed, true), (Words{"-", "-", "-"}));
  EXPECT_EQ(cut("aBcD", "(?=[A-Z])"), (Words{"a", "Bc", "D"})) << "an empty match cuts";
}

TEST(PreTokenizer, LeavesWhatIsNoUtf8AsItIs) {
  const PreTokenizer cuts({PrefixSpaceStep{}, SplitStep{Pattern(PreTokenizer::gpt2_pattern())}});

  EXPECT_EQ(words_of(cuts, "ab\xff\xe2\x80 cd\xc3"), (Words{" ab", "\xff\xe2\x80", " cd", "\xc3"}));
  EXPECT_EQ(words_of(cuts, "\x80x"), (Words{"\x80", "x"}));
  EXPECT_EQ(words_of(cuts, ""), Words{});
}

TEST(Pattern, MeansWhatItMeansToOniguruma) {
  EXPECT_EQ(to_pcre2("\\s[\\S\\d]"), "\\p{White_Space}[\\P{White_Space}\\p{Nd}]");
  EXPECT_EQ(to_pcre2("\\u30a1\\["), "\\x{30a1}\\[");
  EXPECT_EQ(cut("ab_1é-²", "[^\\w]", Behavior::removed), (Words{"ab_1é"}));
  EXPECT_EQ(cut("x'LL", "(?i:'ll)"), (Words{"x", "'LL"}));
}

TEST(Pattern, RefusesWhatMeansAnotherThing) {
  for (const char* pattern : {"\\h", "\\v", "[a[bc]]", "[a&&b]", "\\p{N}{1,3}+", "(?<name>a)", "(?m:a)",
                              "[\\W]", "\\1", "\\pL", "[]a]"}) {
    EXPECT_ERROR(Pattern(pattern), "is not supported", "the pattern");
  }
  EXPECT_ERROR(Pattern("(a"), "the pattern \"(a\" cannot be compiled", "parenthesis");
}

}  // namespace
}  // namespace riesz
