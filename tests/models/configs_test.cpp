// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// config.json: what is read is what is computed; what is not done, or not known, is refused by name.
#include "riesz/models/configs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "riesz/models/label_names.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// As Hugging Face publishes GPT-2's.
const std::string kGpt2 = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
  "bos_token_id": 50256, "embd_pdrop": 0.2, "eos_token_id": 50256, "initializer_range": 0.02,
  "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
  "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.3, "summary_activation": null,
  "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
  "summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true}},
  "vocab_size": 50257
})";

/// SmolLM2's, and Llama 3.2's scaling.
const std::string kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576,
  "initializer_range": 0.041, "intermediate_size": 1536, "is_llama_config": true,
  "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 9,
  "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_interleaved": false, "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 49152
})";

std::string with(std::string config, const std::string& key_and_value) {
  return config.replace(config.rfind('}'), 1, ", " + key_and_value + "}");
}

TEST(Configs, AreRead) {
  const models::MinGptConfig gpt2 = models::gpt2_config(kGpt2);
  EXPECT_EQ(gpt2.layers, 12);
  EXPECT_EQ(gpt2.width, 768);
  EXPECT_EQ(gpt2.hidden, 0);
  EXPECT_EQ(gpt2.context, 1024);
  EXPECT_EQ(gpt2.embedding_dropout, 0.2);
  EXPECT_EQ(gpt2.attention_dropout, 0.1);
  EXPECT_EQ(gpt2.residual_dropout, 0.3);
  EXPECT_EQ(gpt2.activation, "gelu");
  EXPECT_TRUE(gpt2.tied);
  EXPECT_FALSE(models::gpt2_config(with(kGpt2, R"("tie_word_embeddings": false)")).tied);

  const models::LlamaConfig llama = models::llama_config(kLlama);
  EXPECT_EQ(llama.key_value_heads, 3);
  EXPECT_EQ(llama.rotary_base, 100000);
  EXPECT_EQ(llama.rotary_scaling, (RotaryScaling{32, 1, 4, 8192}));
  EXPECT_TRUE(llama.tied);
  EXPECT_EQ(llama.activation, "silu");
  const std::string newer =
      R"({"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 8,
          "intermediate_size": 9, "vocab_size": 5, "max_position_embeddings": 6,
          "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}})";
  EXPECT_EQ(models::llama_config(newer).rotary_base, 500);
  EXPECT_EQ(models::llama_config(newer).rotary_scaling, std::nullopt);
  EXPECT_EQ(models::model_type_of(newer), "llama");
}

TEST(Configs, ComeBackAsTheyWere) {
  const auto same = [](const auto& config, auto read) {
    const std::string text = models::config_json(config);
    EXPECT_EQ(models::config_json(read(text)), text);
  };
  same(models::gpt2_config(kGpt2), models::gpt2_config);
  same(models::MinGptConfig{.hidden = 22, .activation = "gelu_exact", .tied = true}, models::gpt2_config);
  same(models::GptJConfig{.width = 64, .rotary_dims = 4, .activation = "relu"}, models::gpt_j_config);
  same(models::llama_config(kLlama), models::llama_config);
  same(models::LlamaConfig{.head_width = 7, .attention_bias = true, .tied = false}, models::llama_config);
  same(models::VitConfig{.labels = 10, .dropout = 0.1, .qkv_bias = false}, models::vit_config);
}

TEST(Configs, HaveTheNamesOfLabels) {
  const models::VitConfig config{.labels = 3};
  const auto expect = [](const std::string& text, const std::string& some) {
    EXPECT_NE(text.find(some), std::string::npos) << text;
  };
  const std::string text = models::config_json(config, {"cat", "a \"dog\"", "\u00e4"});
  expect(text, R"("id2label": {
    "0": "cat",
    "1": "a \"dog\"",)");
  expect(text, "\"2\": \"\u00e4\"\n  }");
  expect(text, R"("label2id": {
    "cat": 0,
    "a \"dog\"": 1,)");
  EXPECT_EQ(models::vit_config(text).labels, 3);
  EXPECT_EQ(models::label_names(text), (std::vector<std::string>{"cat", "a \"dog\"", "\u00e4"}));
  expect(models::config_json(config), R"("LABEL_2": 2)");
  std::string none = R"({"model_type": "vit", "num_hidden_layers": 1, "num_attention_heads": 1,
    "hidden_size": 2, "intermediate_size": 2, "image_size": 2, "patch_size": 1})";
  EXPECT_EQ(models::label_names(none), (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_ERROR(models::label_names(with(none, R"("id2label": {"0": "cat", "2": "dog"})")),
               "of 2 labels, id2label names no 1");
  EXPECT_ERROR(models::config_json(config, {"cat"}), "1 names of 3 labels");
}

TEST(Configs, OfAVitNamesTheKeyThatIsOutOfRange) {
  const std::string text = models::config_json(models::VitConfig{.labels = 3});
  const auto refused = [&](const std::string& key, const std::string& value, const std::string& why) {
    auto config = nlohmann::json::parse(text);
    config[key] = nlohmann::json::parse(value);
    EXPECT_ERROR(models::vit_config(config.dump()), "config.json: " + key + " is ", why);
  };
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
                          "image_size", "patch_size", "num_channels", "num_labels"}) {
    for (const char* value : {"0", "-1", "1000000000000"}) refused(key, value, "; it must be from 1 to ");
  }
  refused("num_labels", "2", "is 2, and id2label names 3");
  refused("layer_norm_eps", "-1", "from 0 to 1");
  refused("hidden_dropout_prob", "1", "from 0 to 0.99");
  refused("problem_type", "\"multi_label_classification\"", "single_label_classification");
  EXPECT_ERROR(models::vit_config(with(text, R"("patch_size": 15)")), "no multiple of a patch");
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_ERROR(models::vit_config(with(text, R"("more": )" + deep)), "nested more than 100 deep");
  EXPECT_ERROR(models::model_type_of(with(text, R"("more": )" + deep)), "nested more than 100 deep");
}

TEST(Configs, RefuseWhatNoModelHereDoes) {
  using namespace models;
  EXPECT_ERROR(gpt2_config("[1]"), "no JSON object");
  EXPECT_ERROR(gpt2_config(kLlama), "model_type is \"llama\", not \"gpt2\"");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("scale_attn_by_inverse_layer_idx": true)")),
               "scale_attn_by_inverse_layer_idx is true", "has it as false");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("moe": 8, "experts": [2])")),
               "does not know experts = [2], moe = 8", "remove what does not change");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("n_inner": "wide")")), "n_inner is \"wide\"", "not an integer");
  EXPECT_ERROR(gpt2_config(R"({"model_type": "gpt2"})"), "n_layer is missing");
  EXPECT_ERROR(llama_config(with(kLlama, R"("hidden_act": "mish")")), "hidden_act is \"mish\"",
               "no such activation", "gelu_new");
  EXPECT_ERROR(llama_config(with(kLlama, R"("rope_scaling": {"rope_type": "yarn", "factor": 2})")),
               "rope_scaling is", "yarn", "default and llama3");
  const std::string plain = with(kLlama, R"("rope_scaling": null)");
  EXPECT_ERROR(llama_config(with(kLlama, R"("rope_parameters": {"rope_theta": 100000})")),
               "rope_parameters and rope_scaling both");
  EXPECT_ERROR(llama_config(with(plain, R"("rope_parameters": {"partial_rotary_factor": 0.5})")),
               "rope_parameters.partial_rotary_factor is 0.5", "does not know");
  EXPECT_ERROR(llama_config(with(plain, R"("rope_parameters": {"rope_theta": 500})")),
               "rope_theta is 100000; this llama has it as 500");
  EXPECT_ERROR(llama_config(with(plain, R"("rope_scaling": {"rope_type": 3})")), "rope_type is no text");
  EXPECT_ERROR(llama_config(with(plain, R"("rope_scaling": {"factor": 2})")), "rope_scaling.factor is 2");
  EXPECT_ERROR(llama_config(with(kLlama, R"("sliding_window": 4096)")),
               "does not know sliding_window = 4096");
  EXPECT_ERROR(gpt_j_config(with(config_json(GptJConfig{}), R"("rotary": false)")), "rotary is false");
  EXPECT_ERROR(gpt_j_config(with(config_json(GptJConfig{}), R"("rotary_dim": null)")),
               "rotary_dim is missing");
}

}  // namespace
}  // namespace riesz::testing
