// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// config.json of models with experts: what transformers' programs say and mean.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "published_configs.h"
#include "riesz/comm/error.h"
#include "riesz/models/causal_model.h"
#include "riesz/models/configs.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// Each value is another one than that which holds without a word.
models::MixtralConfig uncommon_mixtral() {
  models::MixtralConfig of;
  of.layers = 3, of.heads = 6, of.key_value_heads = 2, of.width = 18, of.head_width = 4, of.hidden = 11;
  of.vocabulary = 97, of.context = 9, of.rotary_base = 500, of.attention_dropout = 0.25;
  of.activation = "gelu", of.epsilon = 0.5, of.tied = true;
  of.experts = 5, of.experts_per_token = 3, of.balance_weight = 0.25, of.balanced = true;
  return of;
}

models::Qwen2MoeConfig uncommon_qwen2_moe() {
  models::Qwen2MoeConfig of;
  of.layers = 3, of.heads = 6, of.key_value_heads = 2, of.width = 18, of.head_width = 4, of.hidden = 11;
  of.vocabulary = 97, of.context = 9, of.rotary_base = 500, of.attention_dropout = 0.25;
  of.activation = "gelu", of.epsilon = 0.5, of.tied = true, of.attention_bias = false;
  of.experts = 5, of.experts_per_token = 3, of.balance_weight = 0.25, of.balanced = true;
  of.expert_hidden = 7, of.renormalise = true;
  return of;
}

/// By hand, under the names that transformers' configuration_mixtral.py and configuration_qwen2_moe.py have.
const std::string kUncommon = R"(
  "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "hidden_size": 18,
  "head_dim": 4, "intermediate_size": 11, "vocab_size": 97, "max_position_embeddings": 9,
  "rope_theta": 500.0, "rope_scaling": null, "attention_dropout": 0.25, "hidden_act": "gelu_new",
  "rms_norm_eps": 0.5, "tie_word_embeddings": true, "num_experts_per_tok": 3,
  "output_router_logits": true, "router_aux_loss_coef": 0.25)";
const std::string kUncommonMixtral = R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
  "num_local_experts": 5, "sliding_window": null, )" +
                                     kUncommon + "}";
const std::string kUncommonQwen2Moe = R"({"architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe",
  "num_experts": 5, "norm_topk_prob": true, "qkv_bias": false, "use_sliding_window": false,
  "shared_expert_intermediate_size": 11, "moe_intermediate_size": 7, )" +
                                      kUncommon + "}";

TEST(ExpertConfigs, AreWrittenUnderTransformersNames) {
  using nlohmann::json;
  EXPECT_EQ(json::parse(models::config_json(uncommon_mixtral())), json::parse(kUncommonMixtral));
  EXPECT_EQ(json::parse(models::config_json(uncommon_qwen2_moe())), json::parse(kUncommonQwen2Moe));
  const models::MixtralConfig mixtral = models::mixtral_config(kUncommonMixtral);
  EXPECT_EQ(mixtral.experts, 5);
  EXPECT_EQ(mixtral.experts_per_token, 3);
  EXPECT_TRUE(mixtral.balanced);
  EXPECT_EQ(mixtral.balance_weight, 0.25);
  const models::Qwen2MoeConfig qwen = models::qwen2_moe_config(kUncommonQwen2Moe);
  EXPECT_TRUE(qwen.renormalise && qwen.balanced && !qwen.attention_bias);
  EXPECT_EQ(qwen.hidden, 11);
  EXPECT_EQ(qwen.expert_hidden, 7);
}

/// The balance is added where output_router_logits is true, which it is not without a word.
TEST(ExpertConfigs, SayWhetherExpertsAreBalanced) {
  for (const std::string& text : {kMixtral, kQwen2Moe}) {
    nlohmann::json config = nlohmann::json::parse(text);
    config.erase("output_router_logits");
    const models::CausalConfig read = models::causal_config(config.dump());
    std::visit(
        [](const auto& of) {
          if constexpr (requires { of.balanced; }) {
            EXPECT_FALSE(of.balanced) << of.model;
          }
        },
        read);
  }
  for (const bool is : {true, false}) {
    const std::string said = with(kMixtral, concat("\"output_router_logits\": ", is ? "true" : "false"));
    EXPECT_EQ(models::mixtral_config(said).balanced, is);
    EXPECT_EQ(models::mixtral_config(said).balance_weight, 0.02);
  }
  EXPECT_ERROR(models::mixtral_config(with(kMixtral, R"("output_router_logits": 1)")),
               "output_router_logits is 1, not true or false");
}

/// As transformers takes them.
TEST(ExpertConfigs, MayLeaveOutWhatTransformersDoes) {
  EXPECT_EQ(models::mixtral_config(with(kMixtral, R"("num_key_value_heads": null)")).key_value_heads, 32);
  EXPECT_ERROR(models::qwen2_moe_config(with(kQwen2Moe, R"("num_key_value_heads": null)")),
               "num_key_value_heads is null; this qwen2_moe has no such number");
  std::string types;
  for (int i = 0; i < 24; ++i) types += concat(i == 0 ? "" : ", ", "\"full_attention\"");
  const auto of_types = [&](const std::string& all) {
    return models::qwen2_moe_config(with(kQwen2Moe, "\"layer_types\": [" + all + "]"));
  };
  EXPECT_NO_THROW(of_types(types));
  EXPECT_ERROR(of_types(types + ", \"full_attention\""), "has it as 24 times \"full_attention\"");
  types.replace(types.find("full"), 4, "sliding");
  EXPECT_ERROR(of_types(types), "config.json: layer_types is [\"sliding_attention\"");
  for (const char* other : {R"("mlp_only_layers": [3])", R"("decoder_sparse_step": 2)"})
    EXPECT_ERROR(models::qwen2_moe_config(with(kQwen2Moe, other)),
                 std::string("config.json: ") + std::string(other).substr(1, 10));
  EXPECT_NO_THROW(models::qwen2_moe_config(with(kQwen2Moe, R"("mlp_only_layers": [])")));
}

TEST(ExpertConfigs, ComeBackAsTheyWere) {
  const auto same = [](const auto& config, auto read) {
    const std::string text = models::config_json(config);
    EXPECT_EQ(models::config_json(read(text)), text);
  };
  same(uncommon_mixtral(), models::mixtral_config);
  same(uncommon_qwen2_moe(), models::qwen2_moe_config);
  models::Gpt2MoeConfig gpt2_moe;
  gpt2_moe.experts = 5, gpt2_moe.experts_every = 3, gpt2_moe.capacity_factor = 1.25, gpt2_moe.z_weight = 0.5;
  gpt2_moe.balanced = false, gpt2_moe.balance_weight = 0.25;
  same(gpt2_moe, models::gpt2_moe_config);
  const models::Gpt2MoeConfig read = models::gpt2_moe_config(models::config_json(gpt2_moe));
  EXPECT_EQ(read.experts, 5);
  EXPECT_EQ(read.experts_every, 3);
  EXPECT_EQ(read.capacity_factor, 1.25);
  EXPECT_EQ(read.z_weight, 0.5);
  EXPECT_FALSE(read.balanced);
}

}  // namespace
}  // namespace riesz::testing
