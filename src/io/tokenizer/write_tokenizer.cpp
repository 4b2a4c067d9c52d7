// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <nlohmann/json.hpp>

#include "riesz/comm/error.h"
#include "riesz/io/atomic_file.h"
#include "riesz/io/tokenizer/tokenizer_files.h"

namespace riesz {
namespace {

using Json = nlohmann::ordered_json;

/// Words by number.
Json words_of(const TokenizerParts& parts) {
  std::vector<std::pair<std::string, TokenId>> words(parts.vocabulary.begin(), parts.vocabulary.end());
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  Json all = Json::object();
  // The object looks for a name before it takes one, which is too slow for so many.
  auto& members = all.get_ref<Json::object_t&>();
  for (const auto& [word, id] : words) members.push_back({word, Json(id)});
  return all;
}

Json byte_level(bool offsets) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", offsets}, {"use_regex", true}};
}

Json tokenizer_json(const TokenizerParts& parts) {
  Json added = Json::array();
  for (const AddedToken& token : parts.added) {
    added.push_back({{"id", token.id},
                     {"content", token.text},
                     {"single_word", false},
                     {"lstrip", token.strip_left},
                     {"rstrip", token.strip_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  Json merges = Json::array();
  for (const auto& [left, right] : parts.merges) merges.push_back(concat(left, " ", right));
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", words_of(parts)},
                      {"merges", merges}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level(true)},
          {"post_processor", byte_level(false)},
          {"decoder", byte_level(true)},
          {"model", model}};
}

}  // namespace

void write_tokenizer(const TokenizerParts& parts, const std::filesystem::path& folder) {
  std::string merges = "#version: 0.2\n";
  for (const auto& [left, right] : parts.merges) merges += concat(left, " ", right, "\n");
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  if (parts.end) {
    for (const char* role : {"bos_token", "eos_token", "unk_token"}) config[role] = *parts.end;
  }
  std::filesystem::create_directories(folder);
  write_file(folder / "vocab.json", words_of(parts).dump());
  write_file(folder / "merges.txt", merges);
  write_file(folder / "tokenizer_config.json", config.dump(2) + "\n");
  write_file(folder / "tokenizer.json", tokenizer_json(parts).dump(1) + "\n");
}

}  // namespace riesz
