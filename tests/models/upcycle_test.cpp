// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A dense model becomes one with experts, which computes the same.
#include "riesz/models/upcycle.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "families.h"

namespace riesz::testing {
namespace {

models::UpcycledSizes three_experts() {
  models::UpcycledSizes sizes;
  sizes.experts = 3, sizes.experts_per_token = 2, sizes.experts_every = 2;
  return sizes;
}

models::LlamaConfig small_llama() {
  models::LlamaConfig config{.layers = 2, .heads = 6, .key_value_heads = 3, .width = 18, .head_width = 4};
  config.hidden = 22, config.vocabulary = 97, config.context = 8, config.rotary_base = 100;
  return config;
}

models::MinGptConfig small_gpt2() {
  return {.layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0, .tied = true};
}

std::unique_ptr<models::CausalModel> drawn(const riesz::Layout& layout, const models::CausalConfig& config,
                                           std::uint64_t seed) {
  auto model = models::make_causal_model(layout, config);
  model->module().initialise(seed, at::kDouble);
  return model;
}

/// Each dense weight, in every place of the routed model that has it.
void copy_weights(models::CausalModel& dense, models::CausalModel& to) {
  std::map<std::string, at::Tensor> values;
  std::set<std::string> missing;
  for (const Parameter& each : to.module().parameters())
    if (models::part_of_upcycled(each.name()).kind != models::UpcycledPart::Kind::router)
      missing.insert(each.name());
  for (const Parameter& each : dense.module().parameters()) {
    const at::Tensor value = full_tensor(each.get()).view(each.shape());
    for (std::int64_t e = -1; e < 3; ++e) {
      const auto expert = e < 0 ? std::nullopt : std::optional(e);
      const std::string name = models::upcycled_name(to.config(), each.name(), expert);
      if (name.empty()) continue;
      EXPECT_EQ(missing.erase(name), 1U) << name;
      values[name] = value;
    }
  }
  EXPECT_TRUE(missing.empty()) << *missing.begin();
  for (Parameter& each : to.module().parameters())
    if (values.contains(each.name())) each.set(values.at(each.name()));
}

/// The gates of a token sum to 1 within 2u, u = 2⁻⁵³, and products of at most 60 terms may be added in
/// another order: 60u each. Two blocks and the output layer do so to values below 1.
TEST(Upcycled, ModelsComputeWhatTheDenseOnesDo) {
  const at::NoGradGuard no_gradient;
  for (const models::CausalConfig& config :
       {models::CausalConfig(small_llama()), models::CausalConfig(small_gpt2())}) {
    const models::CausalConfig routed = models::upcycled(config, three_experts());
    EXPECT_EQ(models::kind_of(routed), models::kind_of(config) == "llama" ? "mixtral" : "gpt2_moe");
    for (const FamilyLayout& layout : expert_layouts()) {
      const riesz::Layout made = layout.made(Partition::world().grid(layout.axes));
      const riesz::Layout alone =
          spaces::one_d(Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}}));
      const auto dense = drawn(alone, config, 7), upcycled = drawn(made, routed, 8);
      for (Parameter& each : dense->module().parameters())
        if (each.name().ends_with(".bias"))
          each.set(numbers_of(each.shape(), 97, 2).to(at::kDouble).div(970));
      copy_weights(*dense, *upcycled);
      const at::Tensor ids = numbers_of({5, 7}, 97, 0);
      const auto logits = [&](models::CausalModel& model) {
        return full_tensor(model.logits(distribute(model.tokens().with_shape({5, 7}), ids)));
      };
      const at::Tensor is = logits(*upcycled), was = logits(*dense);
      EXPECT_LE(is.sub(was).abs().max().item<double>(), 1e-13) << made.name;
      EXPECT_GT(was.abs().max().item<double>(), 1e-2);
    }
  }
}

TEST(Upcycled, SaysWhatCannotBecomeAModelWithExperts) {
  EXPECT_ERROR(models::upcycled(models::GptJConfig{}, three_experts()),
               "a \"gptj\" does not become a model with experts", "\"llama\" becomes a \"mixtral\"");
  EXPECT_ERROR(models::upcycled(models::MixtralConfig{}, three_experts()), "a \"mixtral\" does not become");
  models::LlamaConfig biased = small_llama();
  biased.mlp_bias = true;
  EXPECT_ERROR(models::upcycled(biased, three_experts()), "Mixtral: attention_bias or mlp_bias is set");
  models::UpcycledSizes many = three_experts();
  many.experts_per_token = 4;
  EXPECT_ERROR(models::upcycled(small_llama(), many), "4 experts per token, of 3");
  many = three_experts();
  many.experts_every = 3;
  EXPECT_ERROR(models::upcycled(small_gpt2(), many), "every block number 3 of 2");
}

}  // namespace
}  // namespace riesz::testing
