// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer_json.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/json/json_field.h"

namespace riesz::detail {
namespace {

/// As a regular expression, what a text matches literally.
std::string literal(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}-#&~").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

Behavior behavior_of(const JsonField& field) {
  const std::string name = field.text();
  if (name == "Isolated") return Behavior::isolated;
  if (name == "Removed") return Behavior::removed;
  if (name == "Contiguous") return Behavior::contiguous;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  field.refuse(concat("is ", in_quotes(name), ", which is not supported"));
}

void read_byte_level(const JsonField& step, std::vector<PreTokenizer::Step>& steps) {
  step.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (step.flag("add_prefix_space", true)) steps.emplace_back(PrefixSpaceStep{});
  if (step.flag("use_regex", true)) steps.emplace_back(SplitStep{Pattern(PreTokenizer::gpt2_pattern())});
}

void read_split(const JsonField& step, std::vector<PreTokenizer::Step>& steps) {
  step.allow({"type", "pattern", "behavior", "invert"});
  const JsonField pattern = step["pattern"];
  pattern.allow({"Regex", "String"});
  const auto regex = pattern.find("Regex");
  const std::string expression = regex ? regex->text() : literal(pattern["String"].text());
  steps.emplace_back(
      SplitStep{Pattern(expression), behavior_of(step["behavior"]), step.flag("invert", false)});
}

/// Every step of a pre-tokenizer; true once ByteLevel was read, which must be the last.
bool read_step(const JsonField& step, std::vector<PreTokenizer::Step>& steps, bool bytes) {
  const std::string type = step["type"].text();
  if (bytes) step.refuse("stands behind ByteLevel, which is supported as the last one alone");
  if (type == "ByteLevel") {
    read_byte_level(step, steps);
    return true;
  }
  if (type == "Split") {
    read_split(step, steps);
  } else if (type == "Digits") {
    step.allow({"type", "individual_digits"});
    const bool each = step.flag("individual_digits", false);
    steps.emplace_back(SplitStep{Pattern("\\p{N}"), each ? Behavior::isolated : Behavior::contiguous});
  } else if (type == "Sequence") {
    step.allow({"type", "pretokenizers"});
    for (const JsonField& inner : step["pretokenizers"].elements()) bytes = read_step(inner, steps, bytes);
  } else {
    step.refuse(concat("is a ", in_quotes(type), "; Split, Digits, ByteLevel and Sequence are supported"));
  }
  return bytes;
}

PreTokenizer read_pre_tokenizer(const JsonField& file) {
  std::vector<PreTokenizer::Step> steps;
  if (!read_step(file["pre_tokenizer"], steps, false))
    file["pre_tokenizer"].refuse("has no ByteLevel; only tokenizers over bytes are supported");
  return PreTokenizer(std::move(steps));
}

/// The one kind of decoder that BPE over bytes needs.
void check_decoder(const JsonField& decoder) {
  const std::string type = decoder["type"].text();
  if (type == "Sequence") {
    const std::vector<JsonField> inner = decoder["decoders"].elements();
    if (inner.size() == 1) return check_decoder(inner[0]);
  }
  if (type != "ByteLevel") decoder.refuse(concat("is a ", in_quotes(type), "; ByteLevel is supported"));
}

AddedToken read_added(const JsonField& field) {
  field.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  if (field.flag("single_word", false)) field.refuse("has single_word, which is not supported");
  return {.id = field["id"].token_id(),
          .text = field["content"].text(),
          .special = field.flag("special", false),
          .strip_left = field.flag("lstrip", false),
          .strip_right = field.flag("rstrip", false),
          .normalized = field.flag("normalized", true)};
}

std::pair<std::string, std::string> read_merge(const JsonField& field) {
  if (field.value().is_array()) {
    const std::vector<JsonField> two = field.elements();
    if (two.size() != 2) field.refuse("is no pair");
    return {two[0].text(), two[1].text()};
  }
  const std::string text = field.text();
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    field.refuse(concat("is ", in_quotes(text), ", not two words with a space between them"));
  return {text.substr(0, space), text.substr(space + 1)};
}

void read_model(const JsonField& model, TokenizerParts& parts) {
  const auto type = model.find("type");
  if (type && type->text() != "BPE")
    type->refuse(concat("is ", in_quotes(type->text()), "; BPE is supported"));
  model.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
               "byte_fallback", "ignore_merges", "vocab", "merges"});
  const auto dropout = model.find("dropout");
  if (dropout && dropout->value() != 0) dropout->refuse("is not 0; dropout of merges is not supported");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto field = model.find(affix);
    if (field && !field->text().empty()) field->refuse("is set, which is not supported");
  }
  // With a token for each byte there is nothing to fall back from.
  if (model.flag("byte_fallback", false)) model["byte_fallback"].refuse("is set, which is not supported");
  if (const auto unknown = model.find("unk_token")) parts.unknown = unknown->text();
  parts.fuse_unknown = model.flag("fuse_unk", false);
  parts.whole_words = model.flag("ignore_merges", false);
  const JsonField vocabulary = model["vocab"];
  if (!vocabulary.value().is_object()) vocabulary.refuse("is no object");
  parts.vocabulary.reserve(vocabulary.value().size());
  for (const auto& [word, id] : vocabulary.value().items())
    parts.vocabulary.emplace(word, JsonField(id, concat("the tokenizer ", in_quotes(parts.origin),
                                                        ": model.vocab of ", in_quotes(word)))
                                       .token_id());
  for (const JsonField& merge : model["merges"].elements()) parts.merges.push_back(read_merge(merge));
}

/// The tokens before and behind the text in a template of one text.
void read_template(const JsonField& step, TokenizerParts& parts) {
  step.allow({"type", "single", "pair", "special_tokens"});
  bool behind = false;
  for (const JsonField& piece : step["single"].elements()) {
    if (piece.find("Sequence")) {
      if (behind) piece.refuse("is the text once more");
      behind = true;
      continue;
    }
    const JsonField token = step["special_tokens"][piece["SpecialToken"]["id"].text()];
    for (const JsonField& id : token["ids"].elements())
      (behind ? parts.after : parts.before).push_back(id.token_id());
  }
}

void read_post_processor(const JsonField& step, TokenizerParts& parts) {
  const std::string type = step["type"].text();
  if (type == "ByteLevel") return;  // of offsets alone
  if (type == "TemplateProcessing") return read_template(step, parts);
  if (type != "Sequence")
    step.refuse(
        concat("is a ", in_quotes(type), "; TemplateProcessing, ByteLevel and Sequence are supported"));
  for (const JsonField& inner : step["processors"].elements()) read_post_processor(inner, parts);
}

}  // namespace

TokenizerParts read_tokenizer_json(const std::string& path) {
  const nlohmann::json json = read_json(path);
  const JsonField file(json, concat("the tokenizer ", in_quotes(path), ": "));
  file.allow({"version", "added_tokens", "pre_tokenizer", "post_processor", "decoder", "model", "normalizer",
              "truncation", "padding"});
  for (const char* step : {"normalizer", "truncation", "padding"}) {
    const auto field = file.find(step);
    if (!field) continue;
    const auto type = field->find("type");
    field->refuse(concat("is set", type ? ", a " + type->text() : "", ", which is not supported"));
  }
  TokenizerParts parts;
  parts.origin = path;
  read_model(file["model"], parts);
  parts.pre_tokenizer = read_pre_tokenizer(file);
  check_decoder(file["decoder"]);
  if (const auto added = file.find("added_tokens")) {
    for (const JsonField& token : added->elements()) parts.added.push_back(read_added(token));
  }
  if (const auto step = file.find("post_processor")) read_post_processor(*step, parts);
  return parts;
}

}  // namespace riesz::detail
