// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model of any kind is the class of that kind, to the bit, with caches and without.
#include "riesz/models/causal_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kCausalVocabulary = 31;

const models::MinGptConfig kSmallGpt{
    .layers = 2, .heads = 2, .width = 8, .vocabulary = kCausalVocabulary, .context = 9, .dropout = 0};
const models::GptJConfig kSmallGptJ{
    .layers = 2, .heads = 2, .width = 8, .vocabulary = kCausalVocabulary, .context = 9, .rotary_dims = 2};
const models::LlamaConfig kSmallLlama{.layers = 3,
                                      .heads = 4,
                                      .key_value_heads = 2,
                                      .width = 8,
                                      .hidden = 12,
                                      .vocabulary = kCausalVocabulary,
                                      .context = 9};

template <typename Config>
Config small_of_experts() {
  Config config;
  config.layers = 2, config.heads = 4, config.key_value_heads = 2, config.width = 8, config.hidden = 6;
  config.vocabulary = kCausalVocabulary, config.context = 9, config.experts = 3, config.experts_per_token = 2;
  return config;
}

Vector some_ids(const Space& tokens, std::int64_t first, std::int64_t n) {
  const at::Tensor i = at::arange(2 * 7).mul(5).remainder(kCausalVocabulary).view({2, 7});
  return distribute(tokens.with_shape({2, n}), i.narrow(1, first, n).contiguous());
}

template <typename Class, typename Config>
void expect_the_class(const Config& config, const std::string& kind) {
  SCOPED_TRACE(kind);
  const at::NoGradGuard no_gradient;
  const riesz::Layout layout = spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}}));
  Class own(layout, config);
  const auto any = models::make_causal_model(layout, config);
  own.initialise(3, at::kFloat);
  any->module().initialise(3, at::kFloat);
  const auto logits_of = [&](const Vector& ids) { return Predictions(own(ids)).logits; };
  EXPECT_EQ(any->tokens(), own.tokens());
  EXPECT_EQ(any->targets(), own.targets());
  const at::Tensor whole = full_tensor(logits_of(some_ids(own.tokens(), 0, 7)));
  EXPECT_TRUE(at::equal(full_tensor(any->logits(some_ids(own.tokens(), 0, 7))), whole));

  ModelCache cache, others;
  for (const auto& [first, n] : {std::pair{0, 6}, {6, 1}}) {
    const Vector next = some_ids(own.tokens(), first, n);
    const at::Tensor logits = full_tensor(any->logits(next, others));
    const CacheScope scope(cache, n);
    EXPECT_TRUE(at::equal(logits, full_tensor(logits_of(next))));
  }
  ModelCache last;
  const at::Tensor next = full_tensor(any->next(some_ids(own.tokens(), 0, 7), last));
  EXPECT_TRUE(at::allclose(next, whole.narrow(1, 6, 1), 1e-5, 1e-6));
  EXPECT_EQ(models::kind_of(any->config()), kind);
  EXPECT_EQ(models::blocks_of(any->config()), config.layers);
  EXPECT_EQ(models::vocabulary_of(any->config()), kCausalVocabulary);
  EXPECT_EQ(models::context_of(any->config()), 9);
  const std::string text = models::config_json(any->config());
  EXPECT_EQ(text, models::config_json(config));
  EXPECT_EQ(models::config_json(models::causal_config(text)), text);
}

TEST(CausalModel, IsTheClassOfItsKind) {
  expect_the_class<models::MinGpt>(kSmallGpt, "gpt2");
  expect_the_class<models::GptJ>(kSmallGptJ, "gptj");
  expect_the_class<models::Llama>(kSmallLlama, "llama");
  expect_the_class<models::Mixtral>(small_of_experts<models::MixtralConfig>(), "mixtral");
  expect_the_class<models::Qwen2Moe>(small_of_experts<models::Qwen2MoeConfig>(), "qwen2_moe");
}

TEST(CausalModel, EachKindHasOneRecordInTheOrderOfTheSizes) {
  const std::vector<models::PublishedModel>& all = models::published_models();
  ASSERT_EQ(all.size(), std::variant_size_v<models::CausalConfig>);
  const riesz::Layout alone = spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"tp", 1}}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    const models::CausalConfig config = models::default_config(all[i].name);
    EXPECT_EQ(config.index(), i);
    EXPECT_EQ(models::kind_of(config), all[i].name);
    const models::CausalConfig read = all[i].read(models::config_json(config));
    EXPECT_EQ(read.index(), i);
    EXPECT_EQ(models::config_json(read), models::config_json(config));
    EXPECT_EQ(all[i].make(alone, read)->config().index(), i);
  }
  EXPECT_EQ(models::published_names(),
            "\"gpt2\", \"gptj\", \"llama\", \"mixtral\", \"qwen2_moe\" and \"gpt2_moe\"");
  EXPECT_ERROR(models::default_config("vit"), "model_type is \"vit\"",
               "\"gpt2\", \"gptj\", \"llama\", \"mixtral\", \"qwen2_moe\" and \"gpt2_moe\"");
}

TEST(CausalModel, NamesTensorsOfFilesAsTheModelDoes) {
  models::MinGptConfig apart = kSmallGpt, tied = kSmallGpt;
  apart.tied = false, tied.tied = true;
  models::LlamaConfig other = kSmallLlama;
  other.tied = false;
  EXPECT_EQ(models::weight_name(apart, "h.0.ln_1.weight"), "transformer.h.0.ln_1.weight");
  EXPECT_EQ(models::weight_name(apart, "transformer.wte.weight"), "transformer.wte.weight");
  EXPECT_EQ(models::weight_name(apart, "lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(models::weight_name(tied, "lm_head.weight"), "");
  EXPECT_EQ(models::weight_name(tied, "h.0.attn.bias"), "");
  EXPECT_EQ(models::weight_name(kSmallGptJ, "transformer.h.0.attn.masked_bias"), "");
  EXPECT_EQ(models::weight_name(kSmallGptJ, "lm_head.bias"), "lm_head.bias");
  EXPECT_EQ(models::weight_name(other, "norm.weight"), "model.norm.weight");
  EXPECT_EQ(models::weight_name(other, "lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(models::weight_name(kSmallLlama, "lm_head.weight"), "");
  const auto experts = small_of_experts<models::MixtralConfig>();
  const std::string w1 = "layers.0.block_sparse_moe.experts.2.w1.weight";
  EXPECT_EQ(models::weight_name(experts, w1), "model." + w1);
  EXPECT_EQ(models::weight_name(experts, "lm_head.weight"), "lm_head.weight");
  EXPECT_EQ(models::weight_name(other, "model.layers.0.self_attn.rotary_emb.inv_freq"), "");
}

TEST(CausalModel, NamesTheKindsThereAre) {
  EXPECT_ERROR(models::causal_config(models::config_json(models::VitConfig{})), "model_type is \"vit\"",
               "\"gpt2\", \"gptj\", \"llama\", \"mixtral\", \"qwen2_moe\" and \"gpt2_moe\"");
}

}  // namespace
}  // namespace riesz::testing
