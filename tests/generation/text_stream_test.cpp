// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/text_stream.h"

#include <gtest/gtest.h>

#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// Of single bytes, and one special token.
const Tokenizer& bytes() {
  static const Tokenizer tokenizer(learn_tokenizer({""}, {.vocabulary = 257}));
  return tokenizer;
}

/// What a stream gives out byte by byte, with | between, and behind / what comes at the end.
std::string pieces(const std::string& text, const std::vector<std::string>& stops = {}) {
  TextStream stream(bytes(), stops);
  std::string all, whole;
  const char* between = "";
  for (const TokenId token : bytes().encode(text)) {
    const std::string more = stream.add(token);
    all += between + more;
    whole += more;
    between = "|";
  }
  const std::string rest = stream.end();
  EXPECT_EQ(stream.text(), whole + rest);
  return all + (stream.stopped() ? "." : "") + (rest.empty() ? "" : "/" + rest);
}

TEST(TextStream, CutsNoCharacter) {
  EXPECT_EQ(pieces("aé😀b"), "a||é||||😀|b");
  EXPECT_EQ(pieces("a\xF0\x9F"), "a||/\uFFFD\uFFFD");
  EXPECT_EQ(pieces("\xFFz\xC3z"), "\uFFFD|z||\uFFFDz");
  EXPECT_EQ(pieces("a<|endoftext|>b"), "a||b");
}

TEST(TextStream, EndsBeforeAStopText) {
  EXPECT_EQ(pieces("one\n\ntwo", {"\n\n"}), "o|n|e|||||.");
  EXPECT_EQ(pieces("a\nb\n", {"\n\n"}), "a||\nb|/\n");
  EXPECT_EQ(pieces("ababac!", {"abac"}), "|||ab|||.");
  EXPECT_EQ(pieces("xENDy", {"ND", "END"}), "x||||.");
  EXPECT_EQ(pieces("a\xC3<|endoftext|>b", {"x", "<|endoftext|>"}), "a||\uFFFD|.");
  EXPECT_ERROR(TextStream(bytes(), {"a", ""}), "a stop text is empty");
}

}  // namespace
}  // namespace riesz::testing
