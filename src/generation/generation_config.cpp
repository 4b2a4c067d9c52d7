// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/generation_config.h"

#include <array>
#include <limits>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/file.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/json/strict_json.h"

namespace riesz {
namespace {

using detail::JsonField;
using nlohmann::json;

// A value beyond these has no further effect, or makes logits infinite.
constexpr double kMostTemperature = 1e6, kMostPenalty = 1e3, kLeastProbability = 1e-9;
constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();

/// They say nothing about which tokens are chosen.
constexpr std::array kNoMatter = {"_from_model_config",     "assistant_confidence_threshold",
                                  "bos_token_id",           "cache_implementation",
                                  "decoder_start_token_id", "early_stopping",
                                  "is_assistant",           "length_penalty",
                                  "num_assistant_tokens",   "num_assistant_tokens_schedule",
                                  "output_attentions",      "output_hidden_states",
                                  "output_logits",          "output_scores",
                                  "pad_token_id",           "return_dict_in_generate",
                                  "transformers_version",   "use_cache",
                                  "diversity_penalty",      "remove_invalid_values",
                                  "renormalize_logits"};

/// Without effect with these values, which are the only ones.
const std::vector<std::pair<const char*, json>>& without_effect() {
  static const auto& all =
      *new std::vector<std::pair<const char*, json>>{{"num_beams", 1},
                                                     {"num_beam_groups", 1},
                                                     {"num_return_sequences", 1},
                                                     {"min_length", 0},
                                                     {"min_new_tokens", 0},
                                                     {"typical_p", 1.0},
                                                     {"epsilon_cutoff", 0.0},
                                                     {"eta_cutoff", 0.0},
                                                     {"no_repeat_ngram_size", 0},
                                                     {"min_p", 0.0},
                                                     {"guidance_scale", 1.0},
                                                     {"encoder_no_repeat_ngram_size", 0},
                                                     {"penalty_alpha", 0.0},
                                                     {"encoder_repetition_penalty", 1.0}};
  return all;
}

std::vector<TokenId> tokens_of(const JsonField& field) {
  if (!field.value().is_array()) return {field.token_id()};
  std::vector<TokenId> all;
  for (const JsonField& each : field.elements()) all.push_back(each.token_id());
  return all;
}

std::vector<std::string> texts_of(const JsonField& field) {
  if (!field.value().is_array()) return {field.text()};
  std::vector<std::string> all;
  for (const JsonField& each : field.elements()) all.push_back(each.text());
  return all;
}

/// Refuses what would change the tokens and is not done.
void check_known(const JsonField& whole) {
  static const std::set<std::string> done = {"do_sample",    "temperature",  "top_k",
                                             "top_p",        "eos_token_id", "repetition_penalty",
                                             "stop_strings", "max_length",   "max_new_tokens"};
  std::set<std::string> known(kNoMatter.begin(), kNoMatter.end());
  known.insert(done.begin(), done.end());
  for (const auto& [key, only] : without_effect()) {
    known.insert(key);
    const auto field = whole.find(key);
    if (field && field->value() != only)
      field->refuse(concat("is ", field->shown(), "; only ", only.dump(), " is supported"));
  }
  for (const auto& [key, value] : whole.value().items()) {
    const bool says_nothing = value.is_null() || value == false || (value.is_array() && value.empty());
    if (!says_nothing && !known.contains(key))
      whole.refuse(concat("has ", in_quotes(key), ", which is not supported; take it out of the file"));
  }
}

}  // namespace

GenerationConfig parse_generation_config(const std::string& text, const std::string& origin) {
  const json read = json_of(origin, text);
  const JsonField whole(read, origin + ": ");
  if (!read.is_object()) whole.refuse("is no object");
  check_known(whole);
  GenerationConfig config;
  SamplingOptions& sampling = config.sampling;
  const bool sampled = whole.flag("do_sample", false);
  // Only where nothing is said of it: null says that all tokens are drawn from.
  if (sampled) sampling.temperature = 1, sampling.top_k = read.contains("top_k") ? 0 : 50;
  if (const auto field = whole.find("temperature"); field && sampled)
    sampling.temperature = field->number(0, kMostTemperature);
  if (const auto field = whole.find("top_k")) sampling.top_k = field->integer(0, kMostCount);
  if (const auto field = whole.find("top_p")) sampling.top_p = field->number(kLeastProbability, 1);
  if (const auto field = whole.find("repetition_penalty"))
    sampling.repetition_penalty = field->number(1 / kMostPenalty, kMostPenalty);
  if (const auto field = whole.find("eos_token_id")) config.end = tokens_of(*field);
  if (const auto field = whole.find("stop_strings")) config.stops = texts_of(*field);
  if (const auto field = whole.find("max_new_tokens")) config.new_tokens = field->integer(1, kMostCount);
  if (const auto field = whole.find("max_length")) config.tokens = field->integer(1, kMostCount);
  return config;
}

GenerationConfig read_generation_config(const std::filesystem::path& folder) {
  GenerationConfig config;
  const std::filesystem::path own = folder / "generation_config.json", model = folder / "config.json";
  if (is_there(own)) config = parse_generation_config(bytes_of_file(own), in_quotes(own.string()));
  if (!config.end.empty() || !is_there(model)) return config;
  const json read = detail::read_json(model.string());
  const auto end = JsonField(read, in_quotes(model.string()) + ": ").find("eos_token_id");
  if (end) config.end = tokens_of(*end);
  return config;
}

}  // namespace riesz
