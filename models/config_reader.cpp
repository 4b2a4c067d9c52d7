// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/config_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/json/json_field.h"
#include "riesz/io/json/strict_json.h"

namespace riesz::models::detail {
namespace {

/// Keys that any model of Hugging Face's may have, about training, generating, files and programs.
const std::vector<std::string> kIgnored{"_name_or_path",
                                        "architectures",
                                        "bos_token_id",
                                        "decoder_start_token_id",
                                        "dtype",
                                        "eos_token_id",
                                        "finetuning_task",
                                        "gradient_checkpointing",
                                        "id2label",
                                        "initializer_range",
                                        "label2id",
                                        "model_type",
                                        "output_attentions",
                                        "output_hidden_states",
                                        "pad_token_id",
                                        "problem_type",
                                        "return_dict",
                                        "summary_activation",
                                        "summary_first_dropout",
                                        "summary_proj_to_labels",
                                        "summary_type",
                                        "summary_use_proj",
                                        "task_specific_params",
                                        "tokenizer_class",
                                        "torch_dtype",
                                        "torchscript",
                                        "transformers.js_config",
                                        "transformers_version",
                                        "unk_token_id",
                                        "use_cache",
                                        "_attn_implementation_autoset"};

std::string value_shown(const nlohmann::json& value) { return riesz::detail::JsonField(value, "").shown(); }

}  // namespace

nlohmann::json parsed(const std::string& text) {
  nlohmann::json config = json_of("config.json", text);
  RIESZ_CHECK(config.is_object(), "config.json: it is no JSON object");
  return config;
}

ConfigReader::ConfigReader(const std::string& text, std::string model_type)
    : type_(std::move(model_type)), config_(parsed(text)) {
  const nlohmann::json* const type = find("model_type");
  RIESZ_CHECK(type != nullptr && type->is_string(), "config.json: model_type is missing; \"", type_,
              "\" is expected");
  RIESZ_CHECK(*type == type_, "config.json: model_type is ", value_shown(*type), ", not \"", type_, "\"");
  ignore(kIgnored);
}

const nlohmann::json* ConfigReader::find(const std::string& key) {
  known_.insert(key);
  const auto at = config_.find(key);
  return at == config_.end() || at->is_null() ? nullptr : &*at;
}

std::optional<riesz::detail::JsonField> ConfigReader::field(const std::string& key, bool otherwise) {
  const nlohmann::json* const value = find(key);
  RIESZ_CHECK(value != nullptr || otherwise, "config.json: ", key, " is missing");
  if (value == nullptr) return std::nullopt;
  return riesz::detail::JsonField(*value, "config.json: " + key);
}

std::int64_t ConfigReader::integer(const std::string& key, std::optional<std::int64_t> otherwise,
                                   std::int64_t least, std::int64_t most) {
  const auto value = field(key, otherwise.has_value());
  return value ? value->integer(least, most) : *otherwise;
}

double ConfigReader::number(const std::string& key, std::optional<double> otherwise, double least,
                            double most) {
  const auto value = field(key, otherwise.has_value());
  return value ? value->number(least, most) : *otherwise;
}

std::int64_t ConfigReader::size(const std::string& key, std::optional<std::int64_t> otherwise,
                                std::int64_t most) {
  return integer(key, otherwise, 1, most);
}

bool ConfigReader::flag(const std::string& key, bool otherwise) {
  const nlohmann::json* const value = find(key);
  RIESZ_CHECK(value == nullptr || value->is_boolean(), "config.json: ", key, " is ", value_shown(*value),
              ", not true or false");
  return value != nullptr ? value->get<bool>() : otherwise;
}

bool ConfigReader::is_null(const std::string& key) const {
  const auto at = config_.find(key);
  return at != config_.end() && at->is_null();
}

std::string ConfigReader::activation(const std::string& key, const std::string& otherwise) {
  static const std::map<std::string, std::string> ours{
      {"gelu", "gelu_exact"}, {"gelu_new", "gelu"}, {"gelu_pytorch_tanh", "gelu"},
      {"gelu_fast", "gelu"},  {"relu", "relu"},     {"silu", "silu"},
      {"swish", "silu"}};
  const nlohmann::json* const value = find(key);
  const std::string name = value == nullptr ? otherwise : value->is_string() ? value->get<std::string>() : "";
  const auto at = ours.find(name);
  if (at == ours.end()) {
    refuse(key, "activation; there are gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, relu, silu, swish");
  }
  return at->second;
}

const nlohmann::json* ConfigReader::object(const std::string& key) {
  const nlohmann::json* const value = find(key);
  RIESZ_CHECK(value == nullptr || value->is_object(), "config.json: ", key, " is ", value_shown(*value),
              ", not an object");
  return value;
}

const nlohmann::json* ConfigReader::list(const std::string& key) {
  const nlohmann::json* const value = find(key);
  RIESZ_CHECK(value == nullptr || value->is_array(), "config.json: ", key, " is ", value_shown(*value),
              ", not a list");
  return value;
}

const nlohmann::json* ConfigReader::text(const std::string& key) {
  const nlohmann::json* const value = find(key);
  RIESZ_CHECK(value == nullptr || value->is_string(), "config.json: ", key, " is ", value_shown(*value),
              ", not a text");
  return value;
}

void ConfigReader::only(const std::string& key, const nlohmann::json& value) {
  const nlohmann::json* const found = find(key);
  RIESZ_CHECK(found == nullptr || *found == value, "config.json: ", key, " is ", value_shown(*found),
              "; this ", type_, " has it as ", value.dump());
}

void ConfigReader::only_all(const std::string& key, const std::string& text, std::int64_t count) {
  const nlohmann::json* const found = find(key);
  const std::vector<std::string> all(static_cast<std::size_t>(count), text);
  RIESZ_CHECK(found == nullptr || *found == nlohmann::json(all), "config.json: ", key, " is ",
              value_shown(*found), "; this ", type_, " has it as ", count, " times \"", text, "\"");
}

void ConfigReader::ignore(const std::vector<std::string>& keys) { known_.insert(keys.begin(), keys.end()); }

void ConfigReader::done() const {
  constexpr int kSaid = 10;
  std::string unknown;
  int count = 0;
  for (const auto& [key, value] : config_.items()) {
    if (known_.contains(key) || value.is_null() || ++count > kSaid) continue;
    unknown += concat(unknown.empty() ? "" : ", ", in_short(key), " = ", value_shown(value));
  }
  if (count > kSaid) unknown += concat(" and ", count - kSaid, " more");
  RIESZ_CHECK(unknown.empty(), "config.json: this ", type_, " does not know ", unknown,
              "; remove what does not change what the model computes");
}

void ConfigReader::refuse(const std::string& key, const std::string& what) const {
  const auto at = config_.find(key);
  throw_error(concat("config.json: ", key, " is ", at == config_.end() ? "missing" : value_shown(*at),
                     "; this ", type_, " has no such ", what));
}

}  // namespace riesz::models::detail
