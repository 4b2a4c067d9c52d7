// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/byte_alphabet.h"
#include "riesz/io/tokenizer/byte_pairs.h"

namespace riesz {
namespace {

/// The vocabulary's words of the alphabet by their bytes. Others, which no bytes lead to, are left out.
TextTable<TokenId> by_bytes(const TokenizerParts& parts) {
  TextTable<TokenId> all;
  all.reserve(parts.vocabulary.size());
  for (const auto& [word, id] : parts.vocabulary) {
    if (const auto bytes = from_byte_alphabet(word)) all.emplace(*bytes, id);
  }
  return all;
}

std::vector<std::pair<TokenId, TokenId>> by_ids(const TokenizerParts& parts) {
  std::vector<std::pair<TokenId, TokenId>> all;
  all.reserve(parts.merges.size());
  const auto id_of = [&](const std::string& word) {
    const auto found = parts.vocabulary.find(word);
    RIESZ_CHECK(found != parts.vocabulary.end(), "the tokenizer ", in_quotes(parts.origin), ": merge ",
                all.size(), " is of ", in_quotes(word), ", which is not in the vocabulary");
    return found->second;
  };
  for (const auto& [left, right] : parts.merges) all.emplace_back(id_of(left), id_of(right));
  return all;
}

BytePairs::Options options_of(const TokenizerParts& parts) {
  BytePairs::Options options{.whole_words = parts.whole_words, .fuse_unknown = parts.fuse_unknown};
  if (!parts.unknown) return options;
  const auto found = parts.vocabulary.find(*parts.unknown);
  RIESZ_CHECK(found != parts.vocabulary.end(), "the tokenizer ", in_quotes(parts.origin),
              ": the token for what is unknown, ", in_quotes(*parts.unknown), ", is not in the vocabulary");
  options.unknown = found->second;
  return options;
}

BytePairs pairs_of(const TokenizerParts& parts) {
  TextTable<TokenId> words = by_bytes(parts);
  const auto merges = by_ids(parts);
  const BytePairs::Options options = options_of(parts);
  try {
    return BytePairs(std::move(words), merges, options);
  } catch (const Error& error) {
    throw Error(concat(error.what(), "; so says the tokenizer ", in_quotes(parts.origin)));
  }
}

}  // namespace

struct Tokenizer::State {
  explicit State(TokenizerParts of) : parts(std::move(of)), added(parts.added), pairs(pairs_of(parts)) {
    TokenId greatest = 0;
    for (const auto& [word, id] : parts.vocabulary) greatest = std::max(greatest, id);
    for (const AddedToken& token : parts.added) greatest = std::max(greatest, token.id);
    // Numbers without gaps in all tokenizers that are known; one that is far off would take memory for
    // nothing.
    RIESZ_CHECK(greatest < 10 * (parts.vocabulary.size() + parts.added.size()) + 1000, "the tokenizer ",
                in_quotes(parts.origin), ": a token has the number ", greatest, ", but there are ",
                parts.vocabulary.size() + parts.added.size(), " tokens");
    bytes.resize(std::size_t{greatest} + 1);
    for (const auto& [word, id] : parts.vocabulary) {
      RIESZ_CHECK(!bytes[id], "the tokenizer ", in_quotes(parts.origin), ": ", in_quotes(word),
                  " and another token both have the number ", id);
      bytes[id] = from_byte_alphabet(word).value_or(word);
    }
    special.resize(bytes.size());
    for (const AddedToken& token : parts.added) {
      const auto in_vocabulary = parts.vocabulary.find(token.text);
      RIESZ_CHECK(
          in_vocabulary == parts.vocabulary.end() ? !bytes[token.id] : in_vocabulary->second == token.id,
          "the tokenizer ", in_quotes(parts.origin), ": the added token ", in_quotes(token.text),
          " has the number ", token.id, ", the vocabulary says otherwise");
      bytes[token.id] = token.text;
      special[token.id] = token.special;
    }
    for (const std::vector<TokenId>* some : {&parts.before, &parts.after}) {
      for (const TokenId id : *some)
        RIESZ_CHECK(id < bytes.size() && bytes[id], "the tokenizer ", in_quotes(parts.origin),
                    ": its post_processor puts token ", id, " beside texts, and there is none");
    }
    parts.vocabulary.clear();
    parts.merges.clear();
  }

  TokenizerParts parts;
  AddedTokens added;
  BytePairs pairs;
  std::vector<std::optional<std::string>> bytes;  // by number
  std::vector<bool> special;
};

Tokenizer::Tokenizer(TokenizerParts parts) : state_(std::make_shared<State>(std::move(parts))) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  encode(text, ids, options);
  return ids;
}

void Tokenizer::encode(std::string_view text, std::vector<TokenId>& ids, const EncodeOptions& options) const {
  State& state = *state_;
  const auto put = [&](const std::vector<TokenId>& some) { ids.insert(ids.end(), some.begin(), some.end()); };
  if (options.with_template) put(state.parts.before);
  const PreTokenizer::Visit word = [&](std::string_view bytes) { state.pairs.encode(bytes, ids); };
  if (options.special_in_text) {
    state.added.cut(
        text, [&](std::string_view between) { state.parts.pre_tokenizer.each_word(between, word); },
        [&](const AddedToken& token) { ids.push_back(token.id); });
  } else {
    state.parts.pre_tokenizer.each_word(text, word);
  }
  if (options.with_template) put(state.parts.after);
}

std::string Tokenizer::decode(const std::vector<TokenId>& ids, bool special) const {
  std::string text;
  for (const TokenId id : ids) {
    RIESZ_CHECK(id < state_->bytes.size() && state_->bytes[id], "decode: the tokenizer ", in_quotes(origin()),
                " has no token ", id);
    if (special || !state_->special[id]) text += *state_->bytes[id];
  }
  return text;
}

std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(state_->bytes.size()); }

std::optional<TokenId> Tokenizer::find(std::string_view bytes) const {
  for (const AddedToken& token : state_->added.all()) {
    if (token.text == bytes) return token.id;
  }
  return state_->pairs.find(bytes);
}

std::optional<TokenId> Tokenizer::end() const { return find(state_->parts.end.value_or("<|endoftext|>")); }

const std::vector<TokenId>& Tokenizer::before() const { return state_->parts.before; }
const std::vector<TokenId>& Tokenizer::after() const { return state_->parts.after; }
const std::string& Tokenizer::origin() const { return state_->parts.origin; }

}  // namespace riesz
