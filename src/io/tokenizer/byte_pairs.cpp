// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/byte_pairs.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"

namespace riesz {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
// Words that are remembered: longer ones hardly come again, and beyond so many tokens all are forgotten.
constexpr std::size_t kLongestMet = 64, kMostMet = std::size_t{1} << 20;

std::uint64_t pair_of(TokenId left, TokenId right) { return std::uint64_t{left} << 32 | right; }

}  // namespace

BytePairs::BytePairs(TextTable<TokenId> tokens, const std::vector<std::pair<TokenId, TokenId>>& merges,
                     Options options)
    : tokens_(std::move(tokens)), options_(options) {
  std::unordered_map<TokenId, const std::string*> text;
  for (const auto& [bytes, id] : tokens_) {
    text[id] = &bytes;
    if (bytes.size() == 1) byte_[static_cast<unsigned char>(bytes[0])] = id;
  }
  merges_.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto [left, right] = merges[i];
    RIESZ_CHECK(text.contains(left) && text.contains(right), "merge ", i, " is of tokens ", left, " and ",
                right, ", which are not both words of bytes");
    const auto whole = tokens_.find(*text[left] + *text[right]);
    RIESZ_CHECK(whole != tokens_.end(), "merge ", i, " of ", in_quotes(*text[left]), " and ",
                in_quotes(*text[right]), ": the vocabulary has no token for what it makes");
    merges_.insert_or_assign(pair_of(left, right), Merge{static_cast<std::uint32_t>(i), whole->second});
  }
}

void BytePairs::encode(std::string_view word, std::vector<TokenId>& to) {
  if (const auto found = met_.find(word); found != met_.end()) {
    const auto from = of_met_.begin() + static_cast<std::ptrdiff_t>(found->second.begin);
    to.insert(to.end(), from, from + static_cast<std::ptrdiff_t>(found->second.count));
    return;
  }
  const std::size_t before = to.size();
  const auto whole = options_.whole_words ? tokens_.find(word) : tokens_.end();
  if (whole != tokens_.end()) {
    to.push_back(whole->second);
  } else {
    merge(word, to);
  }
  if (word.size() > kLongestMet) return;
  if (of_met_.size() > kMostMet) {
    met_.clear();
    of_met_.clear();
  }
  met_.emplace(word, Met{of_met_.size(), to.size() - before});
  of_met_.insert(of_met_.end(), to.begin() + static_cast<std::ptrdiff_t>(before), to.end());
}

std::optional<TokenId> BytePairs::find(std::string_view bytes) const {
  const auto found = tokens_.find(bytes);
  if (found == tokens_.end()) return std::nullopt;
  return found->second;
}

/// The word as bytes in a row.
void BytePairs::begin(std::string_view word) {
  symbols_.clear();
  bool unknown_before = false;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unknown = !byte_[byte];
    RIESZ_CHECK(!unknown || options_.unknown, "the vocabulary has no token for the byte ", int{byte}, " of ",
                in_quotes(word), ", and none for what is unknown");
    if (unknown && unknown_before && options_.fuse_unknown) continue;
    unknown_before = unknown;
    const auto at = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back({unknown ? *options_.unknown : *byte_[byte], at - 1, at + 1, kNone, 0});
  }
  if (!symbols_.empty()) {
    symbols_.front().before = kNone;
    symbols_.back().after = kNone;
  }
}

/// Which merge, if any, joins this symbol and the next.
void BytePairs::look_up(std::uint32_t at) {
  Symbol& symbol = symbols_[at];
  symbol.rank = kNone;
  if (symbol.after == kNone) return;
  const auto found = merges_.find(pair_of(symbol.id, symbols_[symbol.after].id));
  if (found == merges_.end()) return;
  symbol.rank = found->second.rank;
  symbol.joined = found->second.joined;
  heap_.push_back(std::uint64_t{symbol.rank} << 32 | at);
}

void BytePairs::join(std::uint32_t at) {
  const auto push = [&](std::uint32_t place) {
    const std::size_t before = heap_.size();
    look_up(place);
    if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  Symbol& symbol = symbols_[at];
  Symbol& gone = symbols_[symbol.after];
  symbol.id = symbol.joined;
  symbol.after = gone.after;
  gone.rank = kNone;
  if (symbol.after != kNone) symbols_[symbol.after].before = at;
  push(at);
  if (symbol.before != kNone) push(symbol.before);
}

void BytePairs::merge(std::string_view word, std::vector<TokenId>& to) {
  RIESZ_CHECK(word.size() < kNone, "a word of ", word.size(), " bytes; it may have 2^32 - 2");
  begin(word);
  heap_.clear();
  for (std::uint32_t at = 0; at < symbols_.size(); ++at) look_up(at);
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::uint64_t first = heap_.back();
    heap_.pop_back();
    const auto at = static_cast<std::uint32_t>(first);
    if (symbols_[at].rank == first >> 32) join(at);  // else it has been joined otherwise since
  }
  for (std::uint32_t at = symbols_.empty() ? kNone : 0; at != kNone; at = symbols_[at].after)
    to.push_back(symbols_[at].id);
}

}  // namespace riesz
