// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// GPT-J, Llama and ViT are the published models, values and gradients, and the same at every layout: in sizes
// that nothing divides.
#include "families.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/partition/split.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

FamilyCase<models::GptJ, models::GptJConfig> gpt_j_case() {
  const models::GptJConfig config{
      .layers = 2, .heads = 3, .width = 18, .hidden = 22, .vocabulary = 97, .context = 8, .rotary_dims = 4};
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::GptJ& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::gpt_j(config, w, ids(step)); }};
}

FamilyCase<models::Llama, models::LlamaConfig> llama_case(bool tied) {
  models::LlamaConfig config{.layers = 2, .heads = 6, .key_value_heads = 3, .width = 18, .head_width = 4};
  config.hidden = 22, config.vocabulary = 97, config.context = 8, config.rotary_base = 100,
  config.tied = tied;
  config.attention_bias = config.mlp_bias = !tied;
  if (!tied) config.rotary_scaling = RotaryScaling{.factor = 4, .original_max_position = 32};
  const auto ids = [](int step) { return numbers_of({5, 7}, 97, step); };
  return {config, ids, [ids](int step) { return ids(step + 1); },
          [](const models::Llama& model) { return model.tokens(); },
          [=](const plain::Weights& w, int step) { return plain::llama(config, w, ids(step)); }};
}

FamilyCase<models::Vit, models::VitConfig> vit_case() {
  const models::VitConfig config{
      .layers = 2, .heads = 3, .width = 15, .hidden = 22, .image = 9, .patch = 3, .channels = 2, .labels = 7};
  const auto images = [](int step) {
    return numbers_of({5, 2, 9, 9}, 101, step).to(at::kDouble).div(50).sub(1);
  };
  return {config, [=](int step) { return models::patches_of(images(step), config); },
          [](int step) { return numbers_of({5}, 7, step); },
          [](const models::Vit& model) { return model.patches(); },
          [=](const plain::Weights& w, int step) { return plain::vit(config, w, images(step)); }};
}

TEST(Families, GptJIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(gpt_j_case(), family_layouts());
}

TEST(Families, LlamaIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(llama_case(/*tied=*/true), family_layouts());
  expect_the_published_model_at_every_layout(llama_case(/*tied=*/false), family_layouts());
}

TEST(Families, VitIsThePublishedModelAtEveryLayout) {
  expect_the_published_model_at_every_layout(vit_case(), family_layouts());
}

TEST(Families, CachesGiveWhatTheWholeForwardGives) {
  expect_caches_to_give_the_whole<models::GptJ>(gpt_j_case().config, family_layouts());
  expect_caches_to_give_the_whole<models::Llama>(llama_case(true).config, family_layouts());
  const models::MinGptConfig gpt2{
      .layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0, .tied = true};
  expect_caches_to_give_the_whole<models::MinGpt>(gpt2, family_layouts());
}

/// What leaves this worker in the forward pass of so many blocks.
std::int64_t sent_forward(std::int64_t layers, double dropout) {
  models::GptJConfig config = gpt_j_case().config;
  config.layers = layers, config.residual_dropout = dropout;
  models::GptJ model(spaces::one_d(Partition::world().grid({{"tp", Runtime::size()}})), config);
  model.initialise(7, at::kDouble);
  const ContextScope scope({.training = true, .seed = 7});
  const at::Tensor ids = numbers_of({5, 7}, 97, 0);
  const std::int64_t before = Counters::instance().total().elements;
  model(distribute(model.tokens().with_shape({5, 7}), ids));
  return Counters::instance().total().elements - before;
}

/// Two branches, one sum of B·T·C over tp; with a mask of its own on each, two.
TEST(Families, GptJsBranchesShareOneSum) {
  const at::NoGradGuard no_gradient;
  const std::int64_t p = Runtime::size(), N = 5 * 7 * 18;
  const std::int64_t own = Split::balanced(N, Runtime::size())[Runtime::rank()].size();
  const std::int64_t one = N - own + (p - 1) * own;
  EXPECT_EQ(sent_forward(3, 0) - sent_forward(2, 0), one);
  EXPECT_EQ(sent_forward(3, 0.1) - sent_forward(2, 0.1), 2 * one);
}

TEST(Families, SayWhatDoesNotFit) {
  EXPECT_ERROR((models::GptJConfig{.heads = 3, .width = 16}.roles()), "GPT-J", "a width of 16", "3 heads");
  EXPECT_ERROR((models::GptJConfig{.heads = 2, .width = 16, .rotary_dims = 10}.roles()),
               "10 dims turn, of 8");
  EXPECT_ERROR((models::LlamaConfig{.heads = 4, .key_value_heads = 3}.roles()), "4 query heads", "of 3");
  EXPECT_ERROR((models::LlamaConfig{.heads = 4, .key_value_heads = 2, .width = 6}.roles()),
               "give head_width");
  EXPECT_ERROR((models::VitConfig{.image = 10, .patch = 3}.roles()), "an image of 10", "a patch of 3");
  EXPECT_ERROR(models::patches_of(at::arange(16).view({1, 1, 4, 4}), vit_case().config),
               "ViT: images of [1, 1", "(B, 2, 9, 9)");
}

}  // namespace
}  // namespace riesz::testing
