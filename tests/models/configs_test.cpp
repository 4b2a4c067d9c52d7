// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// config.json: what is read is what is computed; what is not done, or not known, is refused by name.
#include "riesz/models/configs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "published_configs.h"
#include "riesz/comm/error.h"
#include "riesz/models/label_names.h"
#include "riesz/models/model_config.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

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
  const models::MixtralConfig mixtral = models::mixtral_config(kMixtral);
  EXPECT_EQ(models::config_json(mixtral), models::config_json(models::MixtralConfig{}));
  EXPECT_EQ(mixtral.experts, 8);
  EXPECT_EQ(mixtral.experts_per_token, 2);
  EXPECT_EQ(mixtral.balance_weight, 0.02);
  EXPECT_EQ(mixtral.hidden, 14336);
  const models::MixtralConfig said_less = models::mixtral_config(
      R"({"model_type": "mixtral", "num_hidden_layers": 1, "num_attention_heads": 16, "hidden_size": 32,
          "intermediate_size": 9, "vocab_size": 5, "max_position_embeddings": 6})");
  EXPECT_EQ(said_less.key_value_heads, 8);
  EXPECT_EQ(said_less.rotary_base, 1e6);
  EXPECT_EQ(said_less.epsilon, 1e-5);
  EXPECT_EQ(said_less.balance_weight, 0.001);

  const models::Qwen2MoeConfig qwen = models::qwen2_moe_config(kQwen2Moe);
  EXPECT_EQ(models::config_json(qwen), models::config_json(models::Qwen2MoeConfig{}));
  EXPECT_EQ(qwen.hidden, 5632);
  EXPECT_EQ(qwen.expert_hidden, 1408);
  EXPECT_TRUE(qwen.attention_bias && !qwen.output_bias && !qwen.renormalise);

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
  same(models::LlamaConfig{.head_width = 6, .attention_bias = true, .tied = false}, models::llama_config);
  same(models::VitConfig{.labels = 10, .dropout = 0.1, .qkv_bias = false}, models::vit_config);
  same(models::ResnetConfig{.labels = 3}, models::resnet_config);
  models::ResnetConfig resnet{.depths = {1, 2}, .widths = {8, 12}, .stem = 5, .bottleneck = false};
  resnet.halves_first = true, resnet.image = 28, resnet.channels = 1, resnet.activation = "gelu_exact";
  same(resnet, models::resnet_config);
  same(models::UnetConfig{.levels = 2, .width = 6, .image = 18, .channels = 3}, models::unet_config);
  same(models::FourierNeuralOperatorConfig{.layers = 2, .width = 6, .modes = {3, 5}, .hidden = 7, .size = 12},
       models::fourier_neural_operator_config);
}

/// As microsoft/resnet-18 has it, with fewer labels.
const char* const kResnet18 = R"({"architectures": ["ResNetForImageClassification"],
  "depths": [2, 2, 2, 2], "downsample_in_first_stage": false, "embedding_size": 64, "hidden_act": "relu",
  "hidden_sizes": [64, 128, 256, 512], "id2label": {"0": "tench", "1": "goldfish", "2": "shark"},
  "label2id": {"tench": 0, "goldfish": 1, "shark": 2}, "layer_type": "basic", "model_type": "resnet",
  "num_channels": 3, "torch_dtype": "float32", "transformers_version": "4.18.0.dev0"})";

TEST(Configs, ResnetsAreReadAsTheyArePublished) {
  const models::ResnetConfig config = models::resnet_config(kResnet18);
  EXPECT_EQ(config.depths, (std::vector<std::int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(config.widths, (std::vector<std::int64_t>{64, 128, 256, 512}));
  EXPECT_FALSE(config.bottleneck || config.halves_first);
  EXPECT_EQ(config.stem, 64);
  EXPECT_EQ(config.image, 224);
  EXPECT_EQ(models::label_names(kResnet18), (std::vector<std::string>{"tench", "goldfish", "shark"}));
  EXPECT_ERROR(models::resnet_config(with(kResnet18, R"("layer_type": "wide")")),
               "layer_type is \"wide\"; this resnet has no such blocks; there are basic and bottleneck");
  EXPECT_ERROR(models::resnet_config(with(kResnet18, R"("depths": [2, 0, 2, 2])")),
               "depths[1] is 0; it must be");
  EXPECT_ERROR(models::resnet_config(with(kResnet18, R"("depths": 2)")), "depths is 2, not a list");
  EXPECT_ERROR(models::resnet_config(with(kResnet18, R"("depths": [2])")), "1 depths, [2], and 4 widths");
  EXPECT_ERROR(models::resnet_config(with(kResnet18, R"("downsample_in_bottleneck": true)")),
               "downsample_in_bottleneck is true; this resnet has it as false");
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

/// Each of the keys with each of the values, in a text that is read without them.
void expect_refused(const std::string& text, const std::vector<std::string>& keys,
                    const std::vector<std::string>& values, const std::string& range) {
  EXPECT_NO_THROW(models::model_config(text));
  for (const std::string& key : keys) {
    for (const std::string& value : values) {
      auto config = nlohmann::json::parse(text);
      config[key] = nlohmann::json::parse(value);
      EXPECT_ERROR(models::model_config(config.dump()),
                   "config.json: " + key + " is " + value + "; it must be ", range);
    }
  }
}

TEST(Configs, NameTheKeyTheValueAndTheRangeThatItIsOutOf) {
  const std::vector<std::string> no_size{"0",   "-1",       "1000000000000", "18446744073709551615",
                                         "1.5", "\"wide\"", "[2]",           "true"};
  const std::string from_1 = "an integer from 1 to ";
  const std::string gpt_j = models::config_json(models::GptJConfig{.width = 64, .rotary_dims = 4});
  const std::string vit = models::config_json(models::VitConfig{.labels = 3});
  expect_refused(kGpt2, {"n_layer", "n_head", "n_embd", "n_inner", "vocab_size", "n_positions"}, no_size,
                 from_1);
  expect_refused(gpt_j, {"n_layer", "n_head", "n_embd", "n_inner", "vocab_size", "n_positions"}, no_size,
                 from_1);
  expect_refused(gpt_j, {"rotary_dim"}, {"-2", "6", "1000000000000"}, "an integer from 0 to 4");
  expect_refused(kLlama,
                 {"num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size",
                  "head_dim", "intermediate_size", "vocab_size", "max_position_embeddings"},
                 no_size, from_1);
  expect_refused(kMixtral, {"num_local_experts", "num_experts_per_tok"}, no_size, from_1 + "4096");
  expect_refused(kMixtral, {"router_aux_loss_coef"}, {"-1", "\"0.1\"", "1e+300"}, "a number from 0 to 1");
  expect_refused(vit,
                 {"num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
                  "image_size", "patch_size", "num_channels", "num_labels"},
                 no_size, from_1);
  const std::vector<std::string> no_share{"-1", "2.0", "\"1e-5\"", "1e+300"};
  expect_refused(kGpt2, {"layer_norm_epsilon"}, no_share, "a number from 0 to 1");
  expect_refused(kGpt2, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, no_share, "a number from 0 to 0.99");
  expect_refused(gpt_j, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, no_share, "a number from 0 to 0.99");
  expect_refused(kLlama, {"rms_norm_eps"}, no_share, "a number from 0 to 1");
  expect_refused(kLlama, {"attention_dropout"}, no_share, "a number from 0 to 0.99");
  expect_refused(kLlama, {"rope_theta"}, {"0", "-1", "0.5", "1e+300", "\"500\""}, "a number from 1 to 1e+15");
  expect_refused(vit, {"layer_norm_eps"}, no_share, "a number from 0 to 1");
  expect_refused(vit, {"hidden_dropout_prob", "attention_probs_dropout_prob"}, no_share, "0 to 0.99");
}

TEST(Configs, NameTheNumberOfARotaryScalingThatIsOutOfRange) {
  const auto refused = [](const char* key, const char* value, const std::string& why) {
    auto config = nlohmann::json::parse(kLlama);
    config["rope_scaling"][key] = nlohmann::json::parse(value);
    EXPECT_ERROR(models::llama_config(config.dump()), "config.json: rope_scaling", why);
  };
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    for (const char* value : {"0", "-1", "1e300", "\"8\""})
      refused(key, value,
              concat(".", key, " is ", nlohmann::json::parse(value).dump(), "; it must be a number"));
  }
  for (const char* value : {"0", "-1", "8192.5", "1000000000000", "1e300"})
    refused("original_max_position_embeddings", value, "; it must be an integer from 1 to 134217728");
  refused("low_freq_factor", "4.0", ".low_freq_factor is 4; it must be below high_freq_factor, 4");
  refused("factor", "null", " has no \"factor\"");
  refused("rope_theta", "0.25", ".rope_theta is 0.25; it must be a number from 1 to 1e+15");
}

TEST(Configs, SizesThatDoNotFitEachOtherAreRefused) {
  using namespace models;
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("n_embd": 770)")), "a width of 770 is no multiple of 12 heads");
  EXPECT_ERROR(llama_config(with(kLlama, R"("num_key_value_heads": 2)")),
               "9 query heads are no multiple of 2");
  EXPECT_ERROR(llama_config(with(kLlama, R"("head_dim": 7)")), "heads of a width of 7; it must be even");
  EXPECT_ERROR(gpt_j_config(config_json(GptJConfig{.rotary_dims = 3})), "3 dims turn");
  const std::string vit = config_json(VitConfig{.labels = 3});
  EXPECT_ERROR(vit_config(with(vit, R"("num_labels": 2)")), "is 2, and id2label names 3");
  EXPECT_ERROR(vit_config(with(vit, R"("problem_type": "regression")")), "single_label_classification");
  EXPECT_ERROR(vit_config(with(vit, R"("patch_size": 15)")), "no multiple of a patch");
}

TEST(Configs, AreReadOnlyWhereTheyAreJson) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  for (const auto& [value, why] :
       {std::pair<std::string, std::string>{deep, ": objects and lists more than 100 deep"},
        {"1e400", " is no JSON: a number in it is too great"},
        {"NaN", " is no JSON from byte"},
        {"-Infinity", " is no JSON from byte"}}) {
    EXPECT_ERROR(models::llama_config(with(kLlama, R"("rope_theta": )" + value)), "config.json" + why);
    EXPECT_ERROR(models::model_type_of(with(kLlama, R"("more": )" + value)), "config.json" + why);
  }
}

TEST(Configs, RefuseWhatNoModelHereDoes) {
  using namespace models;
  EXPECT_ERROR(gpt2_config("[1]"), "no JSON object");
  EXPECT_ERROR(gpt2_config(kLlama), "model_type is \"llama\", not \"gpt2\"");
  const std::string letters(100'000, 'x');
  EXPECT_ERROR(gpt2_config("{\"model_type\": \"" + letters + "\"}"), "x …, not \"gpt2\"");
  EXPECT_ERROR(gpt2_config(with(kGpt2, "\"" + letters + "\": \"" + letters + "\"")), "xx … xxx",
               " (100000 bytes) = \"xxx", "xx …; remove what does not change");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("scale_attn_by_inverse_layer_idx": true)")),
               "scale_attn_by_inverse_layer_idx is true", "has it as false");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("moe": 8, "experts": [2])")),
               "does not know experts = [2], moe = 8", "remove what does not change");
  EXPECT_ERROR(gpt2_config(with(kGpt2, R"("n_inner": "wide")")), "n_inner is \"wide\"",
               "an integer from 1 to 1048576");
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
  EXPECT_ERROR(mixtral_config(with(kMixtral, R"("sliding_window": 4096)")),
               "sliding_window is 4096; this mixtral has it as null");
  EXPECT_ERROR(mixtral_config(with(kMixtral, R"("router_jitter_noise": 0.1)")),
               "router_jitter_noise is 0.1; this mixtral has it as 0.0");
  EXPECT_ERROR(mixtral_config(with(kMixtral, R"("num_experts_per_tok": 9)")), "9 experts per token, of 8");
  EXPECT_ERROR(mixtral_config(with(kMixtral, R"("mlp_bias": true)")), "does not know mlp_bias = true");
  EXPECT_ERROR(qwen2_moe_config(with(kQwen2Moe, R"("decoder_sparse_step": 2)")),
               "decoder_sparse_step is 2; this qwen2_moe has it as 1");
  EXPECT_ERROR(qwen2_moe_config(with(kQwen2Moe, R"("mlp_only_layers": [3])")), "mlp_only_layers is [3]");
  EXPECT_ERROR(qwen2_moe_config(with(kQwen2Moe, R"("use_sliding_window": true)")),
               "use_sliding_window is true");
  EXPECT_ERROR(config_json([] {
                 LlamaConfig llama;
                 llama.attention_bias = true, llama.output_bias = false;
                 return llama;
               }()),
               "all biases or none");
  EXPECT_ERROR(gpt_j_config(with(config_json(GptJConfig{}), R"("rotary": false)")), "rotary is false");
  EXPECT_ERROR(gpt_j_config(with(config_json(GptJConfig{}), R"("rotary_dim": null)")),
               "rotary_dim is missing");
}

}  // namespace
}  // namespace riesz::testing
