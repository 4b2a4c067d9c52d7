// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer_json.h"

#include <algorithm>
#include <optional>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/json/strict_json.h"

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

/// The fields of a ByteLevel, of which each kind of step must have the same.
void check_byte_level(const JsonField& step) {
  step.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  for (const char* key : {"add_prefix_space", "trim_offsets"}) step.flag(key);
  if (step.has("use_regex")) step.flag("use_regex");
}

void read_byte_level(const JsonField& step, std::vector<PreTokenizer::Step>& steps) {
  check_byte_level(step);
  if (step.flag("add_prefix_space")) steps.emplace_back(PrefixSpaceStep{});
  if (step.flag("use_regex", true)) steps.emplace_back(SplitStep{Pattern(PreTokenizer::gpt2_pattern())});
}

void read_split(const JsonField& step, std::vector<PreTokenizer::Step>& steps) {
  step.allow({"type", "pattern", "behavior", "invert"});
  const JsonField pattern = step["pattern"];
  pattern.allow({"Regex", "String"});
  const auto regex = pattern.find("Regex");
  const std::string expression = regex ? regex->text() : literal(pattern["String"].text());
  steps.emplace_back(SplitStep{Pattern(expression), behavior_of(step["behavior"]), step.flag("invert")});
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
    const bool each = step.flag("individual_digits");
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
  check_byte_level(decoder);
}

AddedToken read_added(const JsonField& field) {
  field.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  if (field.flag("single_word")) field.refuse("has single_word, which is not supported");
  return {.id = field["id"].token_id(),
          .text = field["content"].text(),
          .special = field.flag("special"),
          .strip_left = field.flag("lstrip"),
          .strip_right = field.flag("rstrip"),
          .normalized = field.flag("normalized")};
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
  const auto type = model.has("type") ? std::optional(model["type"]) : std::nullopt;
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

/// A piece of a template, of which there are two kinds; returns the special token's name, or nothing.
std::optional<std::string> read_piece(const JsonField& piece, const JsonField& special) {
  piece.allow({"Sequence", "SpecialToken"});
  const bool sequence = piece.find("Sequence").has_value();
  if (sequence && piece.find("SpecialToken")) piece.refuse("is two pieces at once");
  const JsonField of = piece[sequence ? "Sequence" : "SpecialToken"];
  of["type_id"].token_id();
  const std::string id = of["id"].text();
  if (!sequence) return special[id], id;
  if (id != "A" && id != "B") of["id"].refuse(concat("is ", in_quotes(id), "; it must be \"A\" or \"B\""));
  return std::nullopt;
}

/// The tokens before and behind the text in a template of one text.
void read_template(const JsonField& step, TokenizerParts& parts) {
  step.allow({"type", "single", "pair", "special_tokens"});
  const JsonField special = step["special_tokens"];
  if (!special.value().is_object()) special.refuse("is no object");
  for (const auto& [name, ignored] : special.value().items()) {
    special[name]["id"].text();
    for (const JsonField& token : special[name]["tokens"].elements()) token.text();
    for (const JsonField& id : special[name]["ids"].elements()) id.token_id();
  }
  for (const JsonField& piece : step["pair"].elements()) read_piece(piece, special);
  bool behind = false;
  for (const JsonField& piece : step["single"].elements()) {
    const auto token = read_piece(piece, special);
    if (!token && behind) piece.refuse("is the text once more");
    if (!token) behind = true;
    if (!token) continue;
    for (const JsonField& id : special[*token]["ids"].elements())
      (behind ? parts.after : parts.before).push_back(id.token_id());
  }
}

void read_post_processor(const JsonField& step, TokenizerParts& parts) {
  const std::string type = step["type"].text();
  if (type == "ByteLevel") return check_byte_level(step);  // of offsets alone
  if (type == "TemplateProcessing") return read_template(step, parts);
  if (type != "Sequence")
    step.refuse(
        concat("is a ", in_quotes(type), "; TemplateProcessing, ByteLevel and Sequence are supported"));
  for (const JsonField& inner : step["processors"].elements()) read_post_processor(inner, parts);
}

}  // namespace

TokenizerParts read_tokenizer_json(const std::string& path) {
  const std::string text = bytes_of_file(path);
  check_nesting(in_quotes(path), text);
  const nlohmann::json json = strict_json(in_quotes(path), text);
  const JsonField file(json, concat("the tokenizer ", in_quotes(path), ": "));
  file.allow({"version", "added_tokens", "pre_tokenizer", "post_processor", "decoder", "model", "normalizer",
              "truncation", "padding"});
  if (file.has("version") && file["version"].text() != "1.0")
    file["version"].refuse(concat("is ", file["version"].shown(), "; it must be \"1.0\""));
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
  if (file.has("added_tokens")) {
    for (const JsonField& token : file["added_tokens"].elements()) parts.added.push_back(read_added(token));
  }
  if (const auto step = file.find("post_processor")) read_post_processor(*step, parts);
  return parts;
}

}  // namespace riesz::detail
