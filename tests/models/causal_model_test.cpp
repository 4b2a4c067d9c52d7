// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model of any kind is the class of that kind, to the bit, with caches and without.
#include "riesz/models/causal_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
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
  EXPECT_EQ(any->tokens(), own.tokens());
  EXPECT_EQ(any->targets(), own.targets());
  const at::Tensor whole = full_tensor(own(some_ids(own.tokens(), 0, 7)));
  EXPECT_TRUE(at::equal(full_tensor(any->logits(some_ids(own.tokens(), 0, 7))), whole));

  std::vector<KeyValueCache> caches(static_cast<std::size_t>(config.layers)), others = any->caches();
  EXPECT_EQ(others.size(), caches.size());
  for (const auto& [first, n] : {std::pair{0, 6}, {6, 1}}) {
    const Vector next = some_ids(own.tokens(), first, n);
    EXPECT_TRUE(at::equal(full_tensor(any->logits(next, others)), full_tensor(own(next, caches))));
  }
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
}

TEST(CausalModel, NamesTheKindsThereAre) {
  EXPECT_ERROR(models::causal_config(models::config_json(models::VitConfig{})), "model_type is \"vit\"",
               "\"gpt2\", \"gptj\" and \"llama\"");
}

}  // namespace
}  // namespace riesz::testing
