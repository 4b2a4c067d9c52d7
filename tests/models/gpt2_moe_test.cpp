// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// GPT-2 with experts beside torch's own operations, values and gradients, and the same at every layout: in
// sizes that nothing divides.
#include "riesz/models/gpt2_moe.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "families.h"
#include "riesz/nn/context.h"

namespace riesz::testing {
namespace {

models::Gpt2MoeConfig small_gpt2_moe() {
  models::Gpt2MoeConfig config;
  config.layers = 3, config.heads = 3, config.width = 15, config.hidden = 10, config.vocabulary = 97;
  config.context = 8, config.dropout = 0, config.tied = true;
  config.experts = 3, config.experts_per_token = 2, config.balance_weight = 0.5, config.z_weight = 0.1;
  return config;
}

FamilyCase<models::Gpt2Moe, models::Gpt2MoeConfig> gpt2_moe_case(const models::Gpt2MoeConfig& config) {
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::Gpt2Moe& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::gpt2_moe(config, w, ids(step)); }};
}

/// Each kind of axis once: data under ZeRO 3, tensor with and without the sequence, rings, experts, and
/// matrices in 2 and 3 dims of a grid.
std::vector<FamilyLayout> some_layouts() {
  using namespace spaces;
  const int p = Runtime::size();
  std::vector<FamilyLayout> some = expert_layouts();
  some.push_back({one_d, Sequence::whole, {{"dp", p}}, 3});
  some.push_back({sequence_parallel, Sequence::whole, {{"tp", p}}});
  some.push_back({one_d, Sequence::ring, {{"sp", p}}});
  if (p % 2 == 0) some.push_back({one_d, Sequence::whole, {{"ep", 2}, {"tp", p / 2}}, {}, "dp"});
  if (p == 4) some.push_back({two_d, Sequence::whole, {{"row", 2}, {"column", 2}}});
  if (p == 8) some.push_back({two_d, Sequence::whole, {{"ep", 2}, {"row", 2}, {"column", 2}}, {}, "dp"});
  if (p == 8) some.push_back({three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}});
  if (p == 8) some.push_back({two_and_half_d, Sequence::whole, {{"depth", 2}, {"row", 2}, {"column", 2}}});
  return some;
}

TEST(Gpt2Moe, IsTheModelInTorchsOperationsAtEveryLayout) {
  expect_the_published_model_at_every_layout(gpt2_moe_case(small_gpt2_moe()), some_layouts());
}

/// More workers than experts, experts in all blocks, and one choice for each token, whose gate is learnt.
TEST(Gpt2Moe, WithOneChoiceIsToo) {
  models::Gpt2MoeConfig config = small_gpt2_moe();
  config.layers = 2, config.experts = 2, config.experts_per_token = 1, config.experts_every = 1;
  config.tied = false;
  expect_the_published_model_at_every_layout(gpt2_moe_case(config), {some_layouts().front()});
}

TEST(Gpt2Moe, OnStagesIsTheSame) {
  if (Runtime::size() % 2 != 0) return;
  const auto family = gpt2_moe_case(small_gpt2_moe());
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  const TrainingRun one_worker = train_family(family, spaces::one_d(alone));
  const Partition mesh = Partition::world().grid({{"pp", 2}, {"ep", Runtime::size() / 2}});
  const auto stage = [&](int at) { return spaces::with_experts(spaces::one_d(mesh.at("pp", at)), "dp"); };
  for (const int of_experts : {0, 1}) {
    const riesz::Layout layout = spaces::placed(
        {stage(0), stage(1)},
        {{"transformer.h.1", of_experts}, {"transformer.h.2", 1}, {"transformer.ln_f", 1}, {"lm_head", 1}});
    EXPECT_TRUE(compare_runs(train_family(family, layout), one_worker)) << of_experts;
  }
}

TEST(Gpt2Moe, CachesGiveWhatTheWholeForwardGives) {
  models::Gpt2MoeConfig config = small_gpt2_moe();
  config.capacity_factor = 0.1;  // of training alone
  expect_caches_to_give_the_whole<models::Gpt2Moe>(config, expert_layouts());
}

/// Logits of 35 tokens, each of which goes to 2 of 3 experts.
at::Tensor logits_of(const riesz::Layout& layout, double capacity_factor, bool training) {
  const at::NoGradGuard no_gradient;
  models::Gpt2MoeConfig config = small_gpt2_moe();
  config.capacity_factor = capacity_factor;
  models::Gpt2Moe model(layout, config);
  model.initialise(7, at::kDouble);
  const ContextScope scope({.training = training, .rows = 5});
  const Vector ids = distribute(model.tokens().with_shape({5, 7}), numbers_of({5, 7}, 97, 0));
  return full_tensor(Predictions(model(ids)).logits);
}

TEST(Gpt2Moe, DropsInTrainingAloneAndAlikeAtEveryLayout) {
  const riesz::Layout alone = spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}));
  const auto apart = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sub(b).abs().max().item<double>();
  };
  const at::Tensor all = logits_of(alone, 0, true), some = logits_of(alone, 0.5, true);
  EXPECT_GT(apart(some, all), 1e-6);
  EXPECT_EQ(apart(logits_of(alone, 0.5, false), all), 0);
  EXPECT_EQ(apart(logits_of(alone, 100, true), all), 0);
  for (const FamilyLayout& layout : expert_layouts()) {
    const riesz::Layout made = layout.made(Partition::world().grid(layout.axes));
    EXPECT_LE(apart(logits_of(made, 0.5, true), some), 1e-12) << made.name;
  }
}

/// GPT-2's names and shapes, and in an expert those of its MLP.
TEST(Gpt2Moe, WeightsHaveGpt2sNames) {
  std::map<std::string, std::vector<std::int64_t>> named, expected{{"transformer.wte.weight", {97, 15}},
                                                                   {"transformer.wpe.weight", {8, 15}},
                                                                   {"transformer.ln_f.weight", {15}},
                                                                   {"transformer.ln_f.bias", {15}}};
  const auto add = [&](const std::string& path, std::int64_t in, std::int64_t out) {
    expected[path + ".weight"] = {in, out}, expected[path + ".bias"] = {out};
  };
  for (const char* layer : {"0.", "1.", "2."}) {
    const std::string h = std::string("transformer.h.") + layer;
    for (const char* norm : {"ln_1", "ln_2"})
      expected[h + norm + ".weight"] = expected[h + norm + ".bias"] = {15};
    add(h + "attn.c_attn", 15, 45), add(h + "attn.c_proj", 15, 15);
    const bool routed = h == "transformer.h.1.";
    if (routed) expected[h + "mlp.gate.weight"] = {3, 15};
    for (int e = 0; e < (routed ? 3 : 1); ++e) {
      const std::string mlp = h + "mlp." + (routed ? "experts." + std::to_string(e) + "." : "");
      add(mlp + "c_fc", 15, 10), add(mlp + "c_proj", 10, 15);
    }
  }
  const Partition alone = Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}});
  for (const Parameter& each : models::Gpt2Moe(spaces::one_d(alone), small_gpt2_moe()).parameters())
    named[each.name()] = each.shape();
  EXPECT_EQ(named, expected);
}

TEST(Gpt2Moe, SaysWhatDoesNotFit) {
  models::Gpt2MoeConfig config = small_gpt2_moe();
  config.experts_every = 4;
  EXPECT_ERROR(config.roles(), "GPT-2 with experts: experts in every block number 4 of 3 are in none");
  config.experts_every = 0;
  EXPECT_ERROR(config.roles(), "GPT-2 with experts: experts_every 0");
  config = small_gpt2_moe();
  config.experts_per_token = 4;
  EXPECT_ERROR(config.roles(), "GPT-2 with experts: 4 experts per token, of 3");
}

}  // namespace
}  // namespace riesz::testing
