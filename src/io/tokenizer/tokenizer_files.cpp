// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer_files.h"

#include <array>
#include <sstream>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/tokenizer/tokenizer_json.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;
using detail::JsonField;

constexpr const char* kEnd = "<|endoftext|>";

/// The pairs of names of GPT-2's format.
constexpr std::array<std::pair<const char*, const char*>, 2> kPairs = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

std::vector<std::pair<std::string, std::string>> read_merges(const fs::path& path) {
  std::vector<std::pair<std::string, std::string>> merges;
  std::istringstream file(bytes_of_file(path));
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    RIESZ_CHECK(space != std::string::npos && line.find(' ', space + 1) == std::string::npos,
                in_quotes(path.string()), ", line ", number, ": ", in_quotes(line),
                " is not two words with a space between them");
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

/// GPT-2's format says no more than words and merges: the pattern is GPT-2's, and <|endoftext|> is special.
TokenizerParts read_pair(const fs::path& vocabulary, const fs::path& merges) {
  TokenizerParts parts;
  parts.origin = vocabulary.string();
  const nlohmann::json words = detail::read_json(vocabulary.string());
  RIESZ_CHECK(words.is_object(), in_quotes(parts.origin), " is no object of words and their numbers");
  for (const auto& [word, id] : words.items())
    parts.vocabulary.emplace(
        word, JsonField(id, concat(in_quotes(parts.origin), ": ", in_quotes(word))).token_id());
  parts.merges = read_merges(merges);
  parts.pre_tokenizer = PreTokenizer({SplitStep{Pattern(PreTokenizer::gpt2_pattern())}});
  if (const auto end = parts.vocabulary.find(kEnd); end != parts.vocabulary.end())
    parts.added.push_back({.id = end->second, .text = kEnd});
  const fs::path more = vocabulary.parent_path() / "added_tokens.json";
  if (!is_there(more)) return parts;
  const nlohmann::json added = detail::read_json(more.string());
  RIESZ_CHECK(added.is_object(), in_quotes(more.string()), " is no object of tokens and their numbers");
  for (const auto& [text, id] : added.items()) {
    const TokenId number = JsonField(id, concat(in_quotes(more.string()), ": ", in_quotes(text))).token_id();
    if (text != kEnd) parts.added.push_back({.id = number, .text = text, .special = false});
  }
  return parts;
}

/// What changes the tokens, and a tokenizer.json would say itself.
void check_pair(const fs::path& config) {
  if (!is_there(config)) return;
  const nlohmann::json json = detail::read_json(config.string());
  const JsonField whole(json, in_quotes(config.string()) + ": ");
  for (const char* key : {"add_bos_token", "add_eos_token", "add_prefix_space"}) {
    if (whole.flag(key, false))
      whole[key].refuse("is true, which is not supported beside vocab.json; take the model's tokenizer.json");
  }
}

/// The name of the token that ends a document.
std::optional<std::string> read_end(const fs::path& config) {
  if (!is_there(config)) return std::nullopt;
  const nlohmann::json json = detail::read_json(config.string());
  const auto end = JsonField(json, in_quotes(config.string()) + ": ").find("eos_token");
  if (!end) return std::nullopt;
  return end->value().is_object() ? (*end)["content"].text() : end->text();
}

/// The file or the pair of files that makes the tokenizer.
std::vector<fs::path> main_files(const fs::path& path) {
  const fs::path folder = is_folder(path) ? path : path.parent_path();
  const std::string name = is_folder(path) ? "" : path.filename().string();
  RIESZ_CHECK(is_there(path), "there is no file or folder ", in_quotes(path.string()));
  for (const auto& [vocabulary, merges] : kPairs) {
    if (name == vocabulary || name == merges ||
        (name.empty() && !is_there(folder / "tokenizer.json") && is_there(folder / vocabulary)))
      return {folder / vocabulary, folder / merges};
  }
  if (!name.empty()) return {path};
  RIESZ_CHECK(
      is_there(folder / "tokenizer.json"), "the folder ", in_quotes(folder.string()),
      " has no tokenizer: neither tokenizer.json nor vocab.json and merges.txt",
      is_there(folder / "tokenizer.model")
          ? "; its tokenizer.model is SentencePiece's, which is not supported: fetch the tokenizer.json "
            "of the same model"
          : "");
  return {folder / "tokenizer.json"};
}

}  // namespace

Tokenizer read_tokenizer(const fs::path& path) {
  const std::vector<fs::path> files = main_files(path);
  TokenizerParts parts =
      files.size() == 2 ? read_pair(files[0], files[1]) : detail::read_tokenizer_json(files[0].string());
  const fs::path config = files[0].parent_path() / "tokenizer_config.json";
  if (files.size() == 2) check_pair(config);
  parts.end = read_end(config);
  return Tokenizer(std::move(parts));
}

bool has_tokenizer(const fs::path& folder) {
  return is_there(folder / "tokenizer.json") || is_there(folder / "vocab.json") ||
         is_there(folder / "encoder.json");
}

std::vector<fs::path> tokenizer_files(const fs::path& path) {
  std::vector<fs::path> files = main_files(path);
  const fs::path folder = files[0].parent_path();
  for (const char* name : {"added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"}) {
    if (is_there(folder / name)) files.push_back(folder / name);
  }
  return files;
}

}  // namespace riesz
