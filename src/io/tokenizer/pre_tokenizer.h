// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "riesz/io/tokenizer/pattern.h"

namespace riesz {

/// Cuts a text where a pattern matches. What becomes of the matches:
enum class Behavior {
  isolated,              ///< each is a piece
  removed,               ///< they are left out
  contiguous,            ///< neighbours are one piece
  merged_with_previous,  ///< each joins what stands before it, unless that is a match
  merged_with_next       ///< each joins what stands behind it, unless that is a match
};

struct SplitStep {
  Pattern pattern;
  Behavior behavior = Behavior::isolated;
  bool invert = false;  ///< what does not match counts as a match, and the reverse
};

/// Puts a space before a piece that does not begin with one.
struct PrefixSpaceStep {};

/// Cuts a text into words before byte-pair encoding, so that no token crosses a cut: tokenizer.json's
/// pre_tokenizer. Not for two threads at once.
class PreTokenizer {
 public:
  using Step = std::variant<SplitStep, PrefixSpaceStep>;
  using Visit = std::function<void(std::string_view word)>;

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// GPT-2's pattern: words, numbers and signs with the space before them, and white space.
  static const std::string& gpt2_pattern();

  /// Visits the words of a text in order. Neighbouring bytes that are no UTF-8 are a word of their own; the
  /// text between such words is cut as usual.
  void each_word(std::string_view text, const Visit& visit) const;

 private:
  void walk(std::size_t step, std::string_view piece, bool first, const Visit& visit) const;

  std::vector<Step> steps_;
};

}  // namespace riesz
