// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

/// Turns a stream of tokens into text. Text that may be the beginning of a stop text, and an incomplete
/// character, are held back until more is known. The text ends before the first stop text.
class TextStream {
 public:
  /// `tokenizer` outlives it. @throws Error where a stop text is empty.
  explicit TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops = {});

  /// The text that may be shown after this token, beyond what add() gave before. Nothing after a stop text.
  /// Special tokens have no text.
  std::string add(TokenId token);
  /// The text that is still held back, when no token follows. Bytes that are no whole character become
  /// U+FFFD.
  std::string end();
  /// Was a stop text met?
  bool stopped() const { return stopped_; }
  /// All text given so far.
  const std::string& text() const { return shown_; }

 private:
  std::string give_out(std::size_t bytes);

  const Tokenizer& tokenizer_;
  std::vector<std::string> stops_;
  std::string held_;   // not yet given out
  std::string shown_;  // given out
  bool stopped_ = false;
};

/// A text in which each byte that belongs to no UTF-8 character is U+FFFD, for a terminal.
std::string with_replaced_bytes(std::string_view text);

}  // namespace riesz
