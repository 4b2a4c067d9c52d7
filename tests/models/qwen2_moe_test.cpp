// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Qwen2-MoE is the published model, values and gradients, and the same at every layout.
#include "riesz/models/qwen2_moe.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "families.h"

namespace riesz::testing {
namespace {

models::Qwen2MoeConfig small_qwen() {
  models::Qwen2MoeConfig config;
  config.layers = 2, config.heads = 6, config.key_value_heads = 3, config.width = 18, config.head_width = 4;
  config.hidden = 14, config.vocabulary = 97, config.context = 8, config.rotary_base = 100;
  config.experts = 5, config.experts_per_token = 3, config.expert_hidden = 7, config.balance_weight = 0.5,
  config.balanced = true;
  return config;
}

FamilyCase<models::Qwen2Moe, models::Qwen2MoeConfig> qwen_case(const models::Qwen2MoeConfig& config) {
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::Qwen2Moe& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::qwen2_moe(config, w, ids(step)); }};
}

/// The blocks are Mixtral's, which has more layouts; those that cut the shared expert in their own way are
/// each on one number of ranks.
std::vector<FamilyLayout> some_layouts() {
  std::vector<FamilyLayout> some = expert_layouts();
  some.push_back({spaces::sequence_parallel, Sequence::whole, {{"tp", Runtime::size()}}});
  some.push_back({spaces::one_d, Sequence::ring, {{"sp", Runtime::size()}}});
  if (Runtime::size() == 2) some.push_back({spaces::one_d, Sequence::ulysses, {{"sp", 2}}});
  if (Runtime::size() == 4) some.push_back({spaces::two_d, Sequence::whole, {{"row", 2}, {"column", 2}}});
  if (Runtime::size() == 8)
    some.push_back({spaces::three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}});
  return some;
}

TEST(Qwen2Moe, IsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(qwen_case(small_qwen()), some_layouts());
}

TEST(Qwen2Moe, WithGatesThatAreDividedByTheirSumIsToo) {
  models::Qwen2MoeConfig config = small_qwen();
  config.renormalise = true;
  expect_the_published_model_at_every_layout(qwen_case(config), {expert_layouts().front()});
}

TEST(Qwen2Moe, CachesGiveWhatTheWholeForwardGives) {
  expect_caches_to_give_the_whole<models::Qwen2Moe>(small_qwen(), some_layouts());
}

/// The names and shapes of Hugging Face's folders.
TEST(Qwen2Moe, WeightsHaveHuggingFacesNames) {
  std::map<std::string, std::vector<std::int64_t>> named,
      expected{
          {"model.embed_tokens.weight", {97, 18}}, {"model.norm.weight", {18}}, {"lm_head.weight", {97, 18}}};
  for (const char* layer : {"0.", "1."}) {
    const std::string h = std::string("model.layers.") + layer, mlp = h + "mlp.";
    expected[h + "input_layernorm.weight"] = expected[h + "post_attention_layernorm.weight"] = {18};
    expected[h + "self_attn.q_proj.weight"] = {24, 18}, expected[h + "self_attn.q_proj.bias"] = {24};
    for (const char* name : {"self_attn.k_proj.", "self_attn.v_proj."})
      expected[h + name + "weight"] = {12, 18}, expected[h + name + "bias"] = {12};
    expected[h + "self_attn.o_proj.weight"] = {18, 24};
    expected[mlp + "gate.weight"] = {5, 18}, expected[mlp + "shared_expert_gate.weight"] = {1, 18};
    const auto add = [&](const std::string& path, std::int64_t inner) {
      expected[path + "gate_proj.weight"] = expected[path + "up_proj.weight"] = {inner, 18};
      expected[path + "down_proj.weight"] = {18, inner};
    };
    add(mlp + "shared_expert.", 14);
    for (int e = 0; e < 5; ++e) add(mlp + "experts." + std::to_string(e) + ".", 7);
  }
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  for (const Parameter& each : models::Qwen2Moe(spaces::one_d(alone), small_qwen()).parameters())
    named[each.name()] = each.shape();
  EXPECT_EQ(named, expected);
}

TEST(Qwen2Moe, SaysWhatDoesNotFit) {
  models::Qwen2MoeConfig config = small_qwen();
  config.expert_hidden = 0;
  EXPECT_ERROR(config.roles(), "Qwen2-MoE: expert_hidden 0");
  config = small_qwen();
  config.output_bias = true;
  EXPECT_ERROR(config.roles(), "Qwen2-MoE: output_bias or mlp_bias is set");
}

}  // namespace
}  // namespace riesz::testing
