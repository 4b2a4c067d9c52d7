// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/configs.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/json/json_field.h"
#include "riesz/models/config_parts.h"
#include "riesz/models/config_reader.h"

namespace riesz::models {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// By the keys that GPT-2 and GPT-J have in common.
template <class Config>
void read_sizes(detail::ConfigReader& config, Config& of) {
  of.layers = config.size("n_layer", {}, detail::kMostLayers);
  of.heads = config.size("n_head");
  of.width = config.size("n_embd");
  of.hidden = config.size("n_inner", 0);
  of.vocabulary = config.size("vocab_size", {}, detail::kMostWords);
  of.context = config.size("n_positions", {}, detail::kMostPositions);
  config.only("n_ctx", of.context);
}

/// The keys of a GPT-2.
void read_gpt2(detail::ConfigReader& config, MinGptConfig& of) {
  read_sizes(config, of);
  of.dropout = detail::read_dropout(config, "resid_pdrop", 0.1);
  of.embedding_dropout = detail::read_dropout(config, "embd_pdrop", 0.1);
  of.attention_dropout = detail::read_dropout(config, "attn_pdrop", 0.1);
  of.residual_dropout = of.dropout;
  of.activation = config.activation("activation_function", "gelu_new");
  of.epsilon = config.number("layer_norm_epsilon", 1e-5, 0, 1);
  of.tied = config.flag("tie_word_embeddings", true);
  config.only("add_cross_attention", false);
  config.only("scale_attn_weights", true);
  config.only("scale_attn_by_inverse_layer_idx", false);
  config.only("reorder_and_upcast_attn", false);
}

/// The same, written.
ordered_json gpt2_json(const char* type, const MinGptConfig& config) {
  return {{"model_type", type},
          {"n_layer", config.layers},
          {"n_head", config.heads},
          {"n_embd", config.width},
          {"n_inner", config.hidden > 0 ? ordered_json(config.hidden) : ordered_json()},
          {"vocab_size", config.vocabulary},
          {"n_positions", config.context},
          {"embd_pdrop", config.embedding_dropout.value_or(config.dropout)},
          {"attn_pdrop", config.attention_dropout.value_or(config.dropout)},
          {"resid_pdrop", config.residual_dropout.value_or(config.dropout)},
          {"activation_function", detail::published_activation(config.activation)},
          {"layer_norm_epsilon", config.epsilon},
          {"tie_word_embeddings", config.tied}};
}

}  // namespace

std::string model_type_of(const std::string& config_json) {
  const json config = detail::parsed(config_json);
  RIESZ_CHECK(config.is_object() && config.contains("model_type") && config["model_type"].is_string(),
              "config.json: it is no JSON object with a model_type");
  return config["model_type"];
}

MinGptConfig gpt2_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "gpt2");
  MinGptConfig of;
  read_gpt2(config, of);
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const MinGptConfig& config) {
  ordered_json of{{"architectures", {"GPT2LMHeadModel"}}};
  of.update(gpt2_json("gpt2", config));
  return detail::text_of(of);
}

Gpt2MoeConfig gpt2_moe_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "gpt2_moe");
  Gpt2MoeConfig of;
  read_gpt2(config, of);
  of.experts = config.size("num_experts", {}, detail::kMostExperts);
  of.experts_every = config.size("decoder_sparse_step", 1, detail::kMostLayers);
  of.capacity_factor = config.number("capacity_factor", 0, 0, detail::kMostCapacityFactor);
  of.z_weight = config.number("router_z_loss_coef", 0, 0, detail::kMostBalanceWeight);
  detail::read_balance(config, of, 0.001);
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const Gpt2MoeConfig& config) {
  ordered_json of = gpt2_json("gpt2_moe", config);
  of["num_experts"] = config.experts;
  of["decoder_sparse_step"] = config.experts_every;
  of["capacity_factor"] = config.capacity_factor;
  of["router_z_loss_coef"] = config.z_weight;
  detail::write_balance(of, config);
  return detail::text_of(of);
}

GptJConfig gpt_j_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "gptj");
  GptJConfig of;
  read_sizes(config, of);
  of.rotary_dims = config.integer("rotary_dim", {}, 0, of.width / of.heads);
  config.only("rotary", true);
  of.embedding_dropout = detail::read_dropout(config, "embd_pdrop", 0);
  of.attention_dropout = detail::read_dropout(config, "attn_pdrop", 0);
  of.residual_dropout = detail::read_dropout(config, "resid_pdrop", 0);
  of.activation = config.activation("activation_function", "gelu_new");
  of.epsilon = config.number("layer_norm_epsilon", 1e-5, 0, 1);
  config.only("tie_word_embeddings", false);
  config.only("scale_attn_weights", true);
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const GptJConfig& config) {
  return detail::text_of({{"architectures", {"GPTJForCausalLM"}},
                          {"model_type", "gptj"},
                          {"n_layer", config.layers},
                          {"n_head", config.heads},
                          {"n_embd", config.width},
                          {"n_inner", config.hidden > 0 ? ordered_json(config.hidden) : ordered_json()},
                          {"vocab_size", config.vocabulary},
                          {"n_positions", config.context},
                          {"rotary_dim", config.rotary_dims},
                          {"embd_pdrop", config.embedding_dropout},
                          {"attn_pdrop", config.attention_dropout},
                          {"resid_pdrop", config.residual_dropout},
                          {"activation_function", detail::published_activation(config.activation)},
                          {"layer_norm_epsilon", config.epsilon},
                          {"tie_word_embeddings", false}});
}

VitConfig vit_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "vit");
  VitConfig of;
  of.layers = config.size("num_hidden_layers", {}, detail::kMostLayers);
  of.heads = config.size("num_attention_heads");
  of.width = config.size("hidden_size");
  of.hidden = config.size("intermediate_size");
  of.image = config.size("image_size", {}, detail::kMostPixels);
  of.patch = config.size("patch_size", {}, detail::kMostPixels);
  of.channels = config.size("num_channels", 3);
  of.labels = detail::labels_said(config);
  of.dropout = detail::read_dropout(config, "hidden_dropout_prob", 0);
  of.attention_dropout = detail::read_dropout(config, "attention_probs_dropout_prob", 0);
  of.activation = config.activation("hidden_act", "gelu");
  of.epsilon = config.number("layer_norm_eps", 1e-12, 0, 1);
  of.qkv_bias = config.flag("qkv_bias", true);
  config.ignore({"encoder_stride", "pooler_act", "pooler_output_size"});  // of what no classifier has
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const VitConfig& config, const std::vector<std::string>& names) {
  const auto [by_number, by_name] = detail::label_tables(config.labels, names);
  return detail::text_of({{"architectures", {"ViTForImageClassification"}},
                          {"model_type", "vit"},
                          {"num_hidden_layers", config.layers},
                          {"num_attention_heads", config.heads},
                          {"hidden_size", config.width},
                          {"intermediate_size", config.hidden > 0 ? config.hidden : 4 * config.width},
                          {"image_size", config.image},
                          {"patch_size", config.patch},
                          {"num_channels", config.channels},
                          {"id2label", by_number},
                          {"label2id", by_name},
                          {"hidden_dropout_prob", config.dropout},
                          {"attention_probs_dropout_prob", config.attention_dropout},
                          {"hidden_act", detail::published_activation(config.activation)},
                          {"layer_norm_eps", config.epsilon},
                          {"qkv_bias", config.qkv_bias}});
}

ResnetConfig resnet_config(const std::string& config_json) {
  detail::ConfigReader config(config_json, "resnet");
  ResnetConfig of;
  of.depths = detail::read_each(config, "depths", of.depths, detail::kMostLayers);
  of.widths = detail::read_each(config, "hidden_sizes", of.widths, detail::kMostWidth);
  of.stem = config.size("embedding_size", of.stem);
  const json* const type = config.text("layer_type");
  if (type != nullptr && *type != "basic" && *type != "bottleneck")
    config.refuse("layer_type", "blocks; there are basic and bottleneck");
  of.bottleneck = type == nullptr || *type == "bottleneck";
  of.halves_first = config.flag("downsample_in_first_stage", false);
  of.image = config.size("image_size", of.image, detail::kMostPixels);
  of.channels = config.size("num_channels", 3);
  of.labels = detail::labels_said(config);
  of.activation = config.activation("hidden_act", "relu");
  config.only("downsample_in_bottleneck", false);
  config.ignore({"out_features", "out_indices", "stage_names"});  // of a part without a classifier
  config.done();
  of.roles();  // throws where sizes do not fit each other
  return of;
}

std::string config_json(const ResnetConfig& config, const std::vector<std::string>& names) {
  const auto [by_number, by_name] = detail::label_tables(config.labels, names);
  return detail::text_of({{"architectures", {"ResNetForImageClassification"}},
                          {"model_type", "resnet"},
                          {"depths", config.depths},
                          {"hidden_sizes", config.widths},
                          {"embedding_size", config.stem},
                          {"layer_type", config.bottleneck ? "bottleneck" : "basic"},
                          {"downsample_in_first_stage", config.halves_first},
                          {"image_size", config.image},
                          {"num_channels", config.channels},
                          {"id2label", by_number},
                          {"label2id", by_name},
                          {"hidden_act", detail::published_activation(config.activation)}});
}

}  // namespace riesz::models
