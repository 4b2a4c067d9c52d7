// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Mixtral is the published model, values and gradients, and the same at every layout, with an axis of experts
// and without: in sizes that nothing divides.
#include "riesz/models/mixtral.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "families.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/models/causal_model.h"
#include "riesz/nn/freeze.h"
#include "riesz/nn/recompute/policy.h"

namespace riesz::testing {
namespace {

models::MixtralConfig small_mixtral() {
  models::MixtralConfig config;
  config.layers = 2, config.heads = 6, config.key_value_heads = 3, config.width = 18, config.head_width = 4;
  config.hidden = 10, config.vocabulary = 97, config.context = 8, config.rotary_base = 100;
  config.experts = 3, config.experts_per_token = 2, config.balance_weight = 0.5, config.balanced = true;
  return config;
}

FamilyCase<models::Mixtral, models::MixtralConfig> mixtral_case(const models::MixtralConfig& config) {
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::Mixtral& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::mixtral(config, w, ids(step)); }};
}

TEST(Mixtral, IsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(mixtral_case(small_mixtral()), family_layouts_with_experts());
}

/// More workers than experts, one choice for each token, and a table that is the output layer's too.
TEST(Mixtral, WithFewExpertsIsToo) {
  models::MixtralConfig config = small_mixtral();
  config.experts = 2, config.experts_per_token = 1, config.tied = true;
  expect_the_published_model_at_every_layout(mixtral_case(config), expert_layouts());
}

TEST(Mixtral, CachesGiveWhatTheWholeForwardGives) {
  expect_caches_to_give_the_whole<models::Mixtral>(small_mixtral(), family_layouts_with_experts());
}

/// The losses and the gradients of a step. `again`: do blocks run again in backward?
TrainingRun one_step(const riesz::Layout& layout, bool again, const std::string& trained = "") {
  models::Mixtral model(layout, small_mixtral());
  model.initialise(7, at::kDouble);
  if (!trained.empty()) freeze_all_but(model, {trained});
  if (again) set_recompute(model, {.regions = RecomputePolicy::Regions::blocks});
  const Vector ids = distribute(model.tokens().with_shape({5, 7}), numbers_of({5, 7}, 97, 0));
  const Vector aims = distribute(model.targets().with_shape({5, 7}), numbers_of({5, 7}, 97, 1));
  Chain chain;
  const Predictions given = model(ids);
  const Vector loss = cross_entropy(given.logits, aims).mean() + *given.loss;
  backward(loss);
  TrainingRun run;
  run.add_initial(model);
  run.results["loss"] = TrainingRun::gathered(model, loss);
  run.results["own loss"] = TrainingRun::gathered(model, *given.loss);
  run.add_gradients(model);
  return run;
}

TrainingRun one_step_alone(const std::string& trained = "") {
  return one_step(spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"tp", 1}})), false,
                  trained);
}

TEST(Mixtral, BlocksRunAgainGiveTheSame) {
  const riesz::Layout layout = spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}}));
  EXPECT_TRUE(compare_runs(one_step(layout, true), one_step_alone()));
}

/// The balance goes from stage to stage, and its loss is made on the last.
TEST(Mixtral, OnStagesIsTheSame) {
  if (Runtime::size() % 2 != 0) return;
  const Partition mesh = Partition::world().grid({{"pp", 2}, {"dp", 1}, {"tp", Runtime::size() / 2}});
  const std::vector<riesz::Layout> stages{spaces::one_d(mesh.at("pp", 0)), spaces::one_d(mesh.at("pp", 1))};
  const riesz::Layout layout =
      spaces::placed(stages, {{"model.layers.1", 1}, {"model.norm", 1}, {"lm_head", 1}});
  for (const bool again : {false, true})
    EXPECT_TRUE(compare_runs(one_step(layout, again), one_step_alone())) << again;
  // What experts are given is a constant, but what they give is none, also for the other stage.
  const std::string experts = "model.layers.0.block_sparse_moe.experts";
  EXPECT_TRUE(compare_runs(one_step(layout, false, experts), one_step_alone(experts)));
}

/// The names of Hugging Face's folders, with shapes.
std::map<std::string, std::vector<std::int64_t>> published_tensors() {
  std::map<std::string, std::vector<std::int64_t>> all{
      {"model.embed_tokens.weight", {97, 18}}, {"model.norm.weight", {18}}, {"lm_head.weight", {97, 18}}};
  for (const char* layer : {"0.", "1."}) {
    const std::string h = std::string("model.layers.") + layer, moe = h + "block_sparse_moe.";
    all[h + "input_layernorm.weight"] = all[h + "post_attention_layernorm.weight"] = {18};
    all[h + "self_attn.q_proj.weight"] = {24, 18}, all[h + "self_attn.o_proj.weight"] = {18, 24};
    all[h + "self_attn.k_proj.weight"] = all[h + "self_attn.v_proj.weight"] = {12, 18};
    all[moe + "gate.weight"] = {3, 18};
    for (const char* expert : {"experts.0.", "experts.1.", "experts.2."}) {
      all[moe + expert + "w1.weight"] = all[moe + expert + "w3.weight"] = {10, 18};
      all[moe + expert + "w2.weight"] = {18, 10};
    }
  }
  return all;
}

TEST(Mixtral, FoldersAreHuggingFacesAndComeBackAtAnyLayout) {
  const at::NoGradGuard no_gradient;
  const models::CausalConfig config = small_mixtral();
  const auto made = [&](const FamilyLayout& layout, std::uint64_t seed) {
    auto model = models::make_causal_model(layout.made(Partition::world().grid(layout.axes)), config);
    model->module().initialise(seed, at::kFloat);
    return model;
  };
  const SharedFolder folder;
  const auto saved = made(expert_layouts().front(), 5);
  const std::vector<Parameter> all = saved->module().parameters();
  save_checkpoint(
      folder.path() / "model", Partition::world(),
      {state_of_values(all), published_shapes(all), {{"config.json", models::config_json(config)}}});

  std::map<std::string, std::vector<std::int64_t>> stored;
  for (const StoredTensor& each : StoredTensors(folder.path() / "model").tensors())
    stored[each.name] = each.shape;
  EXPECT_EQ(stored, published_tensors());
  for (const FamilyLayout& layout : family_layouts_with_experts()) {
    const auto loaded = made(layout, 6);
    load_weights(folder.path() / "model", loaded->module().parameters(),
                 {.called = [&](const auto& name) { return models::weight_name(config, name); }});
    const std::vector<Parameter> is = loaded->module().parameters();
    ASSERT_EQ(is.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(at::equal(full_tensor(is[i].get()), full_tensor(all[i].get()))) << all[i].name();
  }
}

/// As of transformers' folders without output_router_logits: no loss of the model's own.
TEST(Mixtral, BalancesOnlyWhereItIsSaid) {
  models::MixtralConfig config = small_mixtral();
  config.balanced = false;
  models::Mixtral model(spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}})), config);
  model.initialise(7, at::kDouble);
  const Chain chain;
  const Predictions given = model(distribute(model.tokens().with_shape({5, 7}), numbers_of({5, 7}, 97, 0)));
  EXPECT_FALSE(given.loss.has_value());
}

TEST(Mixtral, SaysWhatDoesNotFit) {
  models::MixtralConfig config = small_mixtral();
  config.experts_per_token = 4;
  EXPECT_ERROR(config.roles(), "Mixtral: 4 experts per token, of 3");
  config.experts_per_token = 0;
  EXPECT_ERROR(config.roles(), "Mixtral: experts 3, experts_per_token 0");
  config = small_mixtral();
  config.mlp_bias = true;
  EXPECT_ERROR(config.roles(), "Mixtral: attention_bias or mlp_bias is set");
}

}  // namespace
}  // namespace riesz::testing
