// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "riesz/io/tokenizer/token_id.h"

namespace riesz {

/// Hashes std::string and std::string_view alike, so that a table is asked without making a string.
struct HashOfText {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <typename Value>
using TextTable = std::unordered_map<std::string, Value, HashOfText, std::equal_to<>>;

/// Byte-pair encoding of words (Sennrich et al., 1508.07909). A word begins as its bytes. Among all
/// neighbours that have a merge, those of the first merge are joined, the leftmost first, until none has one.
/// Cost: O(n log n), by a heap over a linked list; words already met are in a table. Not for two threads at
/// once.
class BytePairs {
 public:
  struct Options {
    bool whole_words = false;        ///< a word that is a token is that token, whatever the merges say
    std::optional<TokenId> unknown;  ///< for a byte without a token; else it is an error
    bool fuse_unknown = false;       ///< neighbouring unknown bytes are one token
  };

  /// `tokens`: by their bytes. `merges`: pairs of tokens, first the first to be joined.
  /// @throws Error naming a merge whose parts or result are no tokens.
  BytePairs(TextTable<TokenId> tokens, const std::vector<std::pair<TokenId, TokenId>>& merges,
            Options options);

  /// Appends a word's tokens.
  /// @throws Error naming a byte that has no token.
  void encode(std::string_view word, std::vector<TokenId>& to);

  /// The token of exactly these bytes.
  std::optional<TokenId> find(std::string_view bytes) const;

 private:
  struct Merge {
    std::uint32_t rank;
    TokenId joined;
  };
  struct HashOfPair {
    std::size_t operator()(std::uint64_t pair) const {
      pair *= 0x9e3779b97f4a7c15;
      return pair ^ pair >> 32;
    }
  };
  struct Symbol {
    TokenId id;
    std::uint32_t before;
    std::uint32_t after;
    std::uint32_t rank;  // of the merge with the one after; kNone
    TokenId joined;      // what that makes
  };

  void begin(std::string_view word);
  void look_up(std::uint32_t at);
  void join(std::uint32_t at);
  void merge(std::string_view word, std::vector<TokenId>& to);

  TextTable<TokenId> tokens_;
  std::array<std::optional<TokenId>, 256> byte_;
  std::unordered_map<std::uint64_t, Merge, HashOfPair> merges_;
  Options options_;

  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> heap_;  // rank and place of a pair

  struct Met {
    std::size_t begin;
    std::size_t count;
  };
  TextTable<Met> met_;
  std::vector<TokenId> of_met_;
};

}  // namespace riesz
