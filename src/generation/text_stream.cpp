// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/text_stream.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

/// The length of the longest end of `text` with which `stop` begins, less than all of it.
std::size_t begun(std::string_view text, std::string_view stop) {
  for (std::size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n) {
    if (text.ends_with(stop.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops)
    : tokenizer_(tokenizer), stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    RIESZ_CHECK(!stop.empty(), "a stop text is empty; every text would stop before its first character");
}

std::string TextStream::give_out(std::size_t bytes) {
  std::string out = with_replaced_bytes(std::string_view(held_).substr(0, bytes));
  held_.erase(0, bytes);
  shown_ += out;
  return out;
}

std::string TextStream::add(TokenId token) {
  if (stopped_) return "";
  const std::string shown = tokenizer_.decode({token}, /*special=*/false);
  // A special token is not shown, but may be what a text stops at.
  bool met =
      shown.empty() && std::find(stops_.begin(), stops_.end(), tokenizer_.decode({token})) != stops_.end();
  held_ += shown;
  std::size_t first = held_.size();
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    met = met || at != std::string::npos;
    first = std::min(first, at);
  }
  if (met) {
    std::string out = give_out(first);
    stopped_ = true;
    held_.clear();
    return out;
  }
  std::size_t kept = 0;
  for (const std::string& stop : stops_) kept = std::max(kept, begun(held_, stop));
  return give_out(whole_characters(std::string_view(held_).substr(0, held_.size() - kept)));
}

std::string TextStream::end() { return give_out(held_.size()); }

std::string with_replaced_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = first_character(text).size;
    if (size == 0)
      out += "\uFFFD";
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

}  // namespace riesz
