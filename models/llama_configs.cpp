// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/escaped.h"
#include "riesz/io/json/json_field.h"
#include "riesz/models/config_parts.h"
#include "riesz/models/config_reader.h"
#include "riesz/models/configs.h"

namespace riesz::models {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// How positions turn.
struct Rope {
  double base;
  std::optional<RotaryScaling> scaling;
};

/// Nothing in the object may be ignored.
void check_rope(const std::string& key, const json& rope, const std::vector<std::string>& known) {
  for (const auto& [name, value] : rope.items()) {
    const bool whole = name == "partial_rotary_factor" && value == 1.0;  // all of a head turns
    RIESZ_CHECK(value.is_null() || whole || std::find(known.begin(), known.end(), name) != known.end(),
                "config.json: ", key, ".", in_short(name), " is ",
                riesz::detail::JsonField(value, "").shown(), ", which this llama does not know");
  }
}

std::optional<RotaryScaling> scaling_of(detail::ConfigReader& config, const std::string& key,
                                        const json& rope) {
  std::string type = "default";
  for (const char* name : {"type", "rope_type"}) {
    if (!rope.contains(name) || rope[name].is_null()) continue;
    if (!rope[name].is_string()) config.refuse(key, "rotary scaling; its rope_type is no text");
    type = rope[name].get<std::string>();
  }
  std::vector<std::string> known{"type", "rope_type", "rope_theta"};
  if (type == "default") return check_rope(key, rope, known), std::nullopt;
  if (type != "llama3") config.refuse(key, "rotary scaling; there are default and llama3");
  const riesz::detail::JsonField said(rope, "config.json: " + key);
  const auto factor = [&](const char* name) {
    known.emplace_back(name);
    return said[name].number(1e-6, 1e6);
  };
  constexpr const char* kFirst = "original_max_position_embeddings";
  known.emplace_back(kFirst);
  const RotaryScaling scaling{.factor = factor("factor"),
                              .low_freq_factor = factor("low_freq_factor"),
                              .high_freq_factor = factor("high_freq_factor"),
                              .original_max_position = said[kFirst].integer(1, detail::kMostPositions)};
  RIESZ_CHECK(scaling.low_freq_factor < scaling.high_freq_factor, "config.json: ", key,
              ".low_freq_factor is ", scaling.low_freq_factor, "; it must be below high_freq_factor, ",
              scaling.high_freq_factor);
  check_rope(key, rope, known);
  return scaling;
}

/// Beside each other as "rope_theta" and "rope_scaling", or both in "rope_parameters" (transformers 5).
Rope rope_of(detail::ConfigReader& config, double default_base) {
  const json* const parameters = config.object("rope_parameters");
  const json* const scaling = config.object("rope_scaling");
  RIESZ_CHECK(parameters == nullptr || scaling == nullptr,
              "config.json: rope_parameters and rope_scaling both say how positions turn; remove one");
  const std::string key = parameters != nullptr ? "rope_parameters" : "rope_scaling";
  Rope rope{config.number("rope_theta", default_base, 1, detail::kMostRotaryBase), std::nullopt};
  const json* const said = parameters != nullptr ? parameters : scaling;
  if (said == nullptr) return rope;
  if (const auto base = said->find("rope_theta"); base != said->end() && !base->is_null()) {
    rope.base = riesz::detail::JsonField(*base, concat("config.json: ", key, ".rope_theta"))
                    .number(1, detail::kMostRotaryBase);
    config.only("rope_theta", *base);
  }
  rope.scaling = scaling_of(config, key, *said);
  return rope;
}

/// What holds where a config.json does not say it.
struct LlamaDefaults {
  std::optional<std::int64_t> key_value_heads;  // none: as many as heads
  double rotary_base, epsilon;
  bool null_is_heads = true;  // is a null of it as many as heads?
};

constexpr const char* kKeyHeads = "num_key_value_heads";

/// The keys that a Llama has in common with what is built like it.
void read_llama(detail::ConfigReader& config, LlamaConfig& of, const LlamaDefaults& otherwise) {
  of.layers = config.size("num_hidden_layers", {}, detail::kMostLayers);
  of.heads = config.size("num_attention_heads");
  const bool as_heads = !otherwise.key_value_heads || (otherwise.null_is_heads && config.is_null(kKeyHeads));
  if (!as_heads && config.is_null(kKeyHeads)) config.refuse(kKeyHeads, "number");
  of.key_value_heads = config.size(kKeyHeads, as_heads ? of.heads : *otherwise.key_value_heads);
  of.width = config.size("hidden_size");
  of.head_width = config.size("head_dim", 0);
  of.hidden = config.size("intermediate_size");
  of.vocabulary = config.size("vocab_size", {}, detail::kMostWords);
  of.context = config.size("max_position_embeddings", {}, detail::kMostPositions);
  const Rope rope = rope_of(config, otherwise.rotary_base);
  of.rotary_base = rope.base;
  of.rotary_scaling = rope.scaling;
  of.attention_dropout = detail::read_dropout(config, "attention_dropout", 0);
  of.activation = config.activation("hidden_act", "silu");
  of.epsilon = config.number("rms_norm_eps", otherwise.epsilon, 0, 1);
  of.tied = config.flag("tie_word_embeddings", false);
}

/// The same, written.
ordered_json llama_json(const char* type, const char* architecture, const LlamaConfig& config) {
  ordered_json of{{"architectures", {architecture}},
                  {"model_type", type},
                  {"num_hidden_layers", config.layers},
                  {"num_attention_heads", config.heads},
                  {"num_key_value_heads", config.key_value_heads},
                  {"hidden_size", config.width},
                  {"head_dim", config.head_width > 0 ? config.head_width : config.width / config.heads},
                  {"intermediate_size", config.hidden},
                  {"vocab_size", config.vocabulary},
                  {"max_position_embeddings", config.context},
                  {"rope_theta", config.rotary_base},
                  {"rope_scaling", ordered_json()},
                  {"attention_dropout", config.attention_dropout},
                  {"hidden_act", detail::published_activation(config.activation)},
                  {"rms_norm_eps", config.epsilon}};
  if (const auto& scaling = config.rotary_scaling) {
    of["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", scaling->factor},
                          {"low_freq_factor", scaling->low_freq_factor},
                          {"high_freq_factor", scaling->high_freq_factor},
                          {"original_max_position_embeddings", scaling->original_max_position}};
  }
  return of;
}

}  // namespace

LlamaConfig llama_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "llama");
  LlamaConfig of;
  read_llama(config, of, {.key_value_heads = {}, .rotary_base = 10000, .epsilon = 1e-6});
  of.attention_bias = config.flag("attention_bias", false);
  of.mlp_bias = config.flag("mlp_bias", false);
  config.only("rope_interleaved", false);
  config.ignore({"pretraining_tp", "is_llama_config"});  // how to multiply, and what the program is
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const LlamaConfig& config) {
  RIESZ_CHECK(config.output_bias || !config.attention_bias,
              "config.json: a llama's attention has all biases or none; set output_bias");
  ordered_json of = llama_json("llama", "LlamaForCausalLM", config);
  of["attention_bias"] = config.attention_bias;
  of["mlp_bias"] = config.mlp_bias;
  of["tie_word_embeddings"] = config.tied;
  return detail::text_of(of);
}

MixtralConfig mixtral_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "mixtral");
  MixtralConfig of;
  read_llama(config, of, {.key_value_heads = 8, .rotary_base = 1e6, .epsilon = 1e-5});
  of.experts = config.size("num_local_experts", 8, detail::kMostExperts);
  detail::read_balance(config, of, 0.001);
  config.only("router_jitter_noise", 0.0);
  config.only("sliding_window", nullptr);
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const MixtralConfig& config) {
  ordered_json of = llama_json("mixtral", "MixtralForCausalLM", config);
  of["tie_word_embeddings"] = config.tied;
  of["sliding_window"] = ordered_json();
  of["num_local_experts"] = config.experts;
  detail::write_balance(of, config);
  return detail::text_of(of);
}

Qwen2MoeConfig qwen2_moe_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "qwen2_moe");
  Qwen2MoeConfig of;
  read_llama(config, of,
             {.key_value_heads = 16, .rotary_base = 10000, .epsilon = 1e-6, .null_is_heads = false});
  of.hidden = config.size("shared_expert_intermediate_size", 5632);
  of.expert_hidden = config.size("moe_intermediate_size", 1408);
  of.experts = config.size("num_experts", 60, detail::kMostExperts);
  detail::read_balance(config, of, 0.001);
  of.renormalise = config.flag("norm_topk_prob", false);
  of.attention_bias = config.flag("qkv_bias", true);
  config.only("decoder_sparse_step", 1);
  config.only("mlp_only_layers", json::array());
  config.only("use_sliding_window", false);
  config.only_all("layer_types", "full_attention", of.layers);
  config.ignore({"sliding_window", "max_window_layers"});
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const Qwen2MoeConfig& config) {
  ordered_json of = llama_json("qwen2_moe", "Qwen2MoeForCausalLM", config);
  of["tie_word_embeddings"] = config.tied;
  of["qkv_bias"] = config.attention_bias;
  of["use_sliding_window"] = false;
  of["shared_expert_intermediate_size"] = config.hidden;
  of["moe_intermediate_size"] = config.expert_hidden;
  of["num_experts"] = config.experts;
  of["norm_topk_prob"] = config.renormalise;
  detail::write_balance(of, config);
  return detail::text_of(of);
}

}  // namespace riesz::models
