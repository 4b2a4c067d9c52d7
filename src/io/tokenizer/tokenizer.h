// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "riesz/io/tokenizer/added_tokens.h"
#include "riesz/io/tokenizer/pre_tokenizer.h"

namespace riesz {

class BytePairs;

/// The parts of a tokenizer, as its files have them. Words are written in `byte_alphabet.h`'s alphabet.
struct TokenizerParts {
  std::string origin;  ///< the file, for messages
  std::unordered_map<std::string, TokenId> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  PreTokenizer pre_tokenizer;
  std::vector<AddedToken> added;
  std::vector<TokenId> before, after;  ///< what the template of one text puts around it
  std::optional<std::string> end;      ///< the token behind a document
  std::optional<std::string> unknown;  ///< for a byte that has no token
  bool fuse_unknown = false;
  bool whole_words = false;  ///< a word that is a token is that token, whatever the merges say
};

struct EncodeOptions {
  bool special_in_text = true;  ///< are special tokens that stand in the text those tokens?
  bool with_template = false;   ///< are the template's tokens put around it?
};

/// A byte-level byte-pair tokenizer: text ↔ numbers of tokens. `decode(encode(text))` is the text, byte for
/// byte, also where it is no UTF-8, unless the files add or remove something. Words already met are
/// remembered. A copy is cheap and shares them, so no two threads may use copies at once.
class Tokenizer {
 public:
  /// @throws Error naming the origin and what does not fit together.
  explicit Tokenizer(TokenizerParts parts);

  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Appends to `ids`.
  void encode(std::string_view text, std::vector<TokenId>& ids, const EncodeOptions& options = {}) const;

  /// The bytes of tokens one after another, with or without special ones. To show a stream of tokens, print
  /// `whole_characters` of them.
  /// @throws Error naming a number that is no token.
  std::string decode(const std::vector<TokenId>& ids, bool special = true) const;

  /// One more than the greatest number of a token: what a model needs.
  std::int64_t size() const;
  /// The token of exactly these bytes, an added one first.
  std::optional<TokenId> find(std::string_view bytes) const;
  /// The token that ends a document, as tokenizer_config.json names it, else <|endoftext|> if there is one.
  std::optional<TokenId> end() const;
  /// The tokens that the template puts around a text, such as <|begin_of_text|>.
  const std::vector<TokenId>& before() const;
  const std::vector<TokenId>& after() const;
  const std::string& origin() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace riesz
