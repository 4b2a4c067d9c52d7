// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/gguf/tokenizer_texts.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/tokenizer/tokenizer_text.h"
#include "riesz/io/tokenizer/unicode.h"

namespace riesz {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kTypes = "tokenizer.ggml.token_type";
constexpr const char* kMerges = "tokenizer.ggml.merges";
constexpr const char* kPre = "tokenizer.ggml.pre";
constexpr const char* kModel = "tokenizer.ggml.model";

/// llama.cpp's types of tokens; the others are words of the vocabulary.
enum TokenType : std::int64_t { kUnknown = 2, kControl = 3, kUserDefined = 4 };

/// JSON holds UTF-8 alone.
const std::string& text_of(const GgufMetadata& metadata, const char* key, const std::string& text) {
  if (utf8_prefix(text) != text.size())
    metadata.refuse(key, "has " + in_quotes(text) + ", which is no UTF-8");
  return text;
}

bool is_llama_3(const std::string& pre) { return pre == "llama-bpe" || pre == "llama3" || pre == "llama-v3"; }

/// The cuts that `pre` names, as the models' own tokenizer.json has them.
OrderedJson pre_tokenizer_of(const GgufMetadata& metadata) {
  const std::string pre = metadata.text(kPre);
  const bool space = metadata.flag("tokenizer.ggml.add_space_prefix", false);
  const auto sequence = [](const OrderedJson& first, const OrderedJson& second) {
    return OrderedJson{{"type", "Sequence"}, {"pretokenizers", OrderedJson::array({first, second})}};
  };
  if (pre == "gpt-2") return detail::byte_level(space, true, true);
  if (pre == "smollm")
    return sequence({{"type", "Digits"}, {"individual_digits", true}}, detail::byte_level(space, true, true));
  if (!is_llama_3(pre))
    metadata.refuse(
        kPre, concat("is ", in_quotes(pre), "; known are gpt-2, smollm, llama-bpe, llama3 and llama-v3"));
  constexpr const char* kPattern =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  return sequence(
      {{"type", "Split"}, {"pattern", {{"Regex", kPattern}}}, {"behavior", "Isolated"}, {"invert", false}},
      detail::byte_level(space, true, false));
}

TokenizerParts parts_of(const GgufMetadata& metadata) {
  const std::string model = metadata.text(kModel);
  if (model != "gpt2")
    metadata.refuse(kModel,
                    concat("is ", in_quotes(model),
                           "; byte pairs, \"gpt2\", are known; the weights can be converted without a "
                           "tokenizer (riesz convert --no-tokenizer)"));
  TokenizerParts parts;
  const std::vector<std::string>& tokens = metadata.texts(kTokens);
  const std::vector<std::int64_t> types =
      metadata.has(kTypes) ? metadata.integers(kTypes) : std::vector<std::int64_t>(tokens.size(), 1);
  if (types.size() != tokens.size())
    metadata.refuse(kTypes, concat("is of ", types.size(), " tokens, and there are ", tokens.size()));
  parts.vocabulary.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string& text = text_of(metadata, kTokens, tokens[i]);
    const auto [before, is_new] = parts.vocabulary.emplace(text, id);
    if (!is_new)
      metadata.refuse(kTokens, concat("has ", in_quotes(text), " twice, as ", before->second, " and ", id));
    if (types[i] == kControl || types[i] == kUnknown || types[i] == kUserDefined)
      parts.added.push_back({.id = id, .text = text, .special = types[i] != kUserDefined});
  }
  for (const std::string& merge : metadata.texts(kMerges)) {
    const std::size_t space = text_of(metadata, kMerges, merge).find(' ');
    if (space == std::string::npos || merge.find(' ', space + 1) != std::string::npos)
      metadata.refuse(kMerges, concat("has ", in_quotes(merge), ", not two words with a space between them"));
    parts.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    for (const std::string& word : {parts.merges.back().first, parts.merges.back().second})
      if (!parts.vocabulary.contains(word))
        metadata.refuse(kMerges, concat("has ", in_quotes(word), ", which is no token"));
  }
  parts.whole_words = is_llama_3(metadata.text(kPre));
  return parts;
}

/// The number of a token with a part to play, such as "bos"; nothing where none has it.
std::optional<std::int64_t> special_id(const GgufMetadata& metadata, const char* role) {
  const std::string key = concat("tokenizer.ggml.", role, "_token_id");
  if (!metadata.has(key)) return std::nullopt;
  const std::int64_t id = metadata.integer(key);
  const std::size_t tokens = metadata.texts(kTokens).size();
  if (id < 0 || static_cast<std::size_t>(id) >= tokens)
    metadata.refuse(key, concat("is ", id, ", and there are ", tokens, " tokens"));
  return id;
}

const std::string& token(const GgufMetadata& metadata, std::int64_t id) {
  return metadata.texts(kTokens)[static_cast<std::size_t>(id)];
}

/// The template of one text: the beginning's and the end's token around it, where the metadata want them.
OrderedJson post_processor_of(const GgufMetadata& metadata) {
  const bool first = metadata.flag("tokenizer.ggml.add_bos_token", is_llama_3(metadata.text(kPre)));
  const bool last = metadata.flag("tokenizer.ggml.add_eos_token", false);
  const OrderedJson bytes = detail::byte_level(false, false, true);
  if (!first && !last) return bytes;
  const auto sequence = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson single = OrderedJson::array(), special = OrderedJson::object();
  const auto add = [&](const char* role) {
    const auto id = special_id(metadata, role);
    if (!id)
      metadata.refuse(concat("tokenizer.ggml.", role, "_token_id"), "is missing, and texts have that token");
    const std::string& text = token(metadata, *id);
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    special[text] = {
        {"id", text}, {"ids", OrderedJson::array({*id})}, {"tokens", OrderedJson::array({text})}};
  };
  if (first) add("bos");
  single.push_back(sequence("A", 0));
  if (last) add("eos");
  const OrderedJson processor = {{"type", "TemplateProcessing"},
                                 {"single", single},
                                 {"pair", OrderedJson::array({sequence("A", 0), sequence("B", 1)})},
                                 {"special_tokens", special}};
  return {{"type", "Sequence"}, {"processors", OrderedJson::array({bytes, processor})}};
}

std::string tokenizer_config_text(const GgufMetadata& metadata) {
  OrderedJson config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"clean_up_tokenization_spaces", false}};
  for (const auto& [role, name] : {std::pair{"bos", "bos_token"}, std::pair{"eos", "eos_token"},
                                   std::pair{"unknown", "unk_token"}, std::pair{"padding", "pad_token"}}) {
    if (const auto id = special_id(metadata, role)) config[name] = token(metadata, *id);
  }
  constexpr const char* kTemplate = "tokenizer.chat_template";
  if (metadata.has(kTemplate))
    config["chat_template"] = text_of(metadata, kTemplate, metadata.text(kTemplate));
  return config.dump(2) + "\n";
}

std::string generation_config_text(const GgufMetadata& metadata) {
  OrderedJson config = OrderedJson::object();
  if (const auto id = special_id(metadata, "bos")) config["bos_token_id"] = *id;
  // An answer may end otherwise than a text.
  std::vector<std::int64_t> ends;
  for (const char* role : {"eos", "eot", "eom"}) {
    const auto id = special_id(metadata, role);
    if (id && std::find(ends.begin(), ends.end(), *id) == ends.end()) ends.push_back(*id);
  }
  if (ends.size() == 1) config["eos_token_id"] = ends.front();
  if (ends.size() > 1) config["eos_token_id"] = ends;
  if (const auto id = special_id(metadata, "padding")) config["pad_token_id"] = *id;
  return config.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> tokenizer_texts(const GgufMetadata& metadata) {
  const TokenizerParts parts = parts_of(metadata);
  const detail::TokenizerSteps steps{pre_tokenizer_of(metadata), post_processor_of(metadata)};
  return {{"tokenizer.json", detail::tokenizer_json_text(parts, steps)},
          {"tokenizer_config.json", tokenizer_config_text(metadata)},
          {"generation_config.json", generation_config_text(metadata)}};
}

}  // namespace riesz
