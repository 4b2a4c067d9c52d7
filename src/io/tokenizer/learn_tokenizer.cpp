// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/learn_tokenizer.h"

#include <algorithm>
#include <array>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/tokenizer/byte_alphabet.h"
#include "riesz/io/tokenizer/byte_pairs.h"

namespace riesz {
namespace {

using Pair = std::pair<TokenId, TokenId>;
struct HashOfTwo {
  std::size_t operator()(const Pair& pair) const {
    const std::uint64_t both = (std::uint64_t{pair.first} << 32 | pair.second) * 0x9e3779b97f4a7c15;
    return both ^ both >> 32;
  }
};

struct Word {
  std::vector<TokenId> tokens;
  std::int64_t count;
};

/// A pair, and how often it stood when it was put into the queue.
struct Candidate {
  std::int64_t count;
  Pair pair;

  bool operator<(const Candidate& other) const {  // the greatest goes first
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

/// The words of the texts in order, each once, as bytes.
std::vector<std::pair<std::string, std::int64_t>> count_each_word(const EachText& each_text) {
  const PreTokenizer cuts({SplitStep{Pattern(PreTokenizer::gpt2_pattern())}});
  TextTable<std::int64_t> counts;
  each_text([&](std::string_view text) {
    cuts.each_word(text, [&](std::string_view word) {
      const auto found = counts.find(word);
      if (found == counts.end())
        counts.emplace(word, 1);
      else
        ++found->second;
    });
  });
  std::vector<std::pair<std::string, std::int64_t>> words(counts.begin(), counts.end());
  std::sort(words.begin(), words.end());
  return words;
}

class Learning {
 public:
  explicit Learning(const EachText& each_text) {
    std::array<TokenId, 256> id{};
    for (const unsigned char byte : bytes_in_alphabet_order()) {
      id[byte] = static_cast<TokenId>(words.size());
      add_token(in_byte_alphabet({reinterpret_cast<const char*>(&byte), 1}));
    }
    for (const auto& [word, count] : count_each_word(each_text)) {
      Word& added = corpus_.emplace_back(Word{{}, count});
      for (const char byte : word) added.tokens.push_back(id[static_cast<unsigned char>(byte)]);
    }
    for (std::size_t i = 0; i < corpus_.size(); ++i) {
      const Word& word = corpus_[i];
      for (std::size_t at = 0; at + 1 < word.tokens.size(); ++at)
        change({word.tokens[at], word.tokens[at + 1]}, word.count, i);
    }
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  /// Joins pairs until there are so many tokens, or none stands so often.
  void run(std::size_t tokens, std::int64_t least) {
    while (words.size() < tokens && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t now = counts_[best.pair];
      if (now != best.count) {
        if (now >= least && now < best.count) queue_.push({now, best.pair});
        continue;
      }
      if (now < least) break;
      join(best.pair);
    }
  }

  std::vector<std::string> words;  // by number, in the alphabet
  std::vector<std::pair<std::string, std::string>> merges;

 private:
  TokenId add_token(const std::string& word) {
    const auto [place, fresh] = number_.emplace(word, static_cast<TokenId>(words.size()));
    if (fresh) words.push_back(word);
    return place->second;
  }

  void change(const Pair& pair, std::int64_t by, std::size_t word) {
    counts_[pair] += by;
    if (by <= 0) return;
    std::vector<std::size_t>& places = places_[pair];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void join(const Pair& pair) {
    merges.emplace_back(words[pair.first], words[pair.second]);
    const TokenId joined = add_token(words[pair.first] + words[pair.second]);
    const std::vector<std::size_t> places = std::move(places_[pair]);
    places_.erase(pair);
    risen_.clear();
    for (const std::size_t place : places) join_in(place, pair, joined);
    counts_.erase(pair);
    for (const Pair& risen : risen_) queue_.push({counts_[risen], risen});
  }

  void join_in(std::size_t place, const Pair& pair, TokenId joined) {
    Word& word = corpus_[place];
    std::vector<TokenId>& tokens = word.tokens;
    std::size_t to = 0;
    const auto rise = [&](const Pair& risen) {
      change(risen, word.count, place);
      risen_.insert(risen);
    };
    for (std::size_t at = 0; at < tokens.size(); ++at, ++to) {
      const bool here = at + 1 < tokens.size() && tokens[at] == pair.first && tokens[at + 1] == pair.second;
      if (!here) {
        tokens[to] = tokens[at];
        continue;
      }
      if (to > 0) {
        change({tokens[to - 1], pair.first}, -word.count, place);
        rise({tokens[to - 1], joined});
      }
      if (at + 2 < tokens.size()) {
        change({pair.second, tokens[at + 2]}, -word.count, place);
        rise({joined, tokens[at + 2]});
      }
      tokens[to] = joined;
      ++at;
    }
    tokens.resize(to);
  }

  TextTable<TokenId> number_;
  std::vector<Word> corpus_;
  std::unordered_map<Pair, std::int64_t, HashOfTwo> counts_;
  std::unordered_map<Pair, std::vector<std::size_t>, HashOfTwo> places_;
  std::priority_queue<Candidate> queue_;
  std::set<Pair> risen_;
};

/// The tokens that are not special.
std::int64_t learnt_of(const LearnOptions& options) {
  return options.vocabulary - static_cast<std::int64_t>(options.special.size());
}

}  // namespace

TokenizerParts learn_tokenizer(const std::vector<std::string_view>& texts, const LearnOptions& options) {
  const EachText each = [&](const auto& take) { std::for_each(texts.begin(), texts.end(), take); };
  return learn_tokenizer(each, options);
}

void check_vocabulary(const LearnOptions& options) {
  RIESZ_CHECK(learnt_of(options) >= 256, "a vocabulary of ", options.vocabulary,
              " tokens has no room for the 256 bytes and ", options.special.size(), " special tokens; take ",
              256 + options.special.size(), " or more");
}

TokenizerParts learn_tokenizer(const EachText& each_text, const LearnOptions& options) {
  check_vocabulary(options);
  Learning learning(each_text);
  learning.run(static_cast<std::size_t>(learnt_of(options)), options.least_count);
  TokenizerParts parts;
  parts.origin = "learnt";
  for (const std::string& word : learning.words)
    parts.vocabulary.emplace(word, static_cast<TokenId>(parts.vocabulary.size()));
  parts.merges = std::move(learning.merges);
  parts.pre_tokenizer = PreTokenizer({SplitStep{Pattern(PreTokenizer::gpt2_pattern())}});
  for (const std::string& special : options.special) {
    const auto id = static_cast<TokenId>(parts.vocabulary.size());
    parts.vocabulary.emplace(special, id);
    parts.added.push_back({.id = id, .text = special});
  }
  if (!options.special.empty()) parts.end = options.special.front();
  return parts;
}

}  // namespace riesz
