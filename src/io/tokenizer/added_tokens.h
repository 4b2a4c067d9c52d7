// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/io/tokenizer/token_id.h"

namespace riesz {

/// A token that is found in the text before anything else is cut, such as <|endoftext|>.
struct AddedToken {
  TokenId id = 0;
  std::string text;
  bool special = true;       ///< decoding may leave it out
  bool strip_left = false;   ///< it takes the white space before it
  bool strip_right = false;  ///< it takes the white space behind it
  bool normalized = false;   ///< it is searched for after the others

  bool operator==(const AddedToken&) const = default;
};

/// Finds added tokens in texts: from the left, the longest one at each place.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  const std::vector<AddedToken>& all() const { return all_; }

  using VisitText = std::function<void(std::string_view text)>;
  using VisitToken = std::function<void(const AddedToken& token)>;
  /// Visits a text's tokens and what stands between them, in order; no empty text.
  void cut(std::string_view text, const VisitText& between, const VisitToken& token) const;

 private:
  /// The numbers of tokens by their first byte, the longest first.
  using Table = std::array<std::vector<std::size_t>, 256>;
  void cut(const Table& table, std::string_view text, const VisitText& between,
           const VisitToken& token) const;

  std::vector<AddedToken> all_;
  Table first_;   // those that are looked for first
  Table second_;  // and those in what is left
};

}  // namespace riesz
