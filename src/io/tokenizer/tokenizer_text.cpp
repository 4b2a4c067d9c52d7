// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer_text.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz::detail {

using OrderedJson = nlohmann::ordered_json;

OrderedJson words_of(const TokenizerParts& parts) {
  std::vector<std::pair<std::string, TokenId>> words(parts.vocabulary.begin(), parts.vocabulary.end());
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  OrderedJson all = OrderedJson::object();
  // The object looks for a name before it takes one, which is too slow for so many.
  auto& members = all.get_ref<OrderedJson::object_t&>();
  for (const auto& [word, id] : words) members.push_back({word, OrderedJson(id)});
  return all;
}

OrderedJson byte_level(bool prefix_space, bool trim_offsets, bool cuts) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", cuts}};
}

std::string tokenizer_json_text(const TokenizerParts& parts, const TokenizerSteps& steps) {
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : parts.added) {
    added.push_back({{"id", token.id},
                     {"content", token.text},
                     {"single_word", false},
                     {"lstrip", token.strip_left},
                     {"rstrip", token.strip_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  OrderedJson merges = OrderedJson::array();
  for (const auto& [left, right] : parts.merges) merges.push_back(concat(left, " ", right));
  const OrderedJson model = {{"type", "BPE"},
                             {"dropout", nullptr},
                             {"unk_token", nullptr},
                             {"continuing_subword_prefix", nullptr},
                             {"end_of_word_suffix", nullptr},
                             {"fuse_unk", false},
                             {"byte_fallback", false},
                             {"ignore_merges", parts.whole_words},
                             {"vocab", words_of(parts)},
                             {"merges", merges}};
  const OrderedJson all = {{"version", "1.0"},
                           {"truncation", nullptr},
                           {"padding", nullptr},
                           {"added_tokens", added},
                           {"normalizer", nullptr},
                           {"pre_tokenizer", steps.pre_tokenizer},
                           {"post_processor", steps.post_processor},
                           {"decoder", byte_level(false, true, true)},
                           {"model", model}};
  return all.dump(1) + "\n";
}

}  // namespace riesz::detail
