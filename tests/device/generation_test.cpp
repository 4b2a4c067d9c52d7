// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Texts are written and scored on a device as on the CPU, with one read of the host for each token.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../generation/small_models.h"
#include "riesz/comm/runtime.h"
#include "riesz/generation/evaluate.h"
#include "riesz/generation/generate.h"
#include "riesz/testing/pretend_device.h"

namespace riesz::testing {
namespace {

const std::vector<std::vector<TokenId>> kPrompts{{5, 1, 33, 2, 96}, {7, 7}, {90, 4, 11, 50, 2, 8, 61}};

GenerateOptions options_for(std::int64_t tokens) {
  return {.sampling = {.repetition_penalty = 1.3, .temperature = 0.9, .top_k = 60, .top_p = 0.95},
          .seed = 3,
          .tokens = tokens,
          .read_at_once = 3};
}

std::vector<std::vector<TokenId>> written(const TextModel& model, std::int64_t tokens) {
  std::vector<std::vector<TokenId>> all;
  for (const GeneratedText& each : generate(model, kPrompts, options_for(tokens)).texts)
    all.push_back(each.tokens);
  return all;
}

std::unique_ptr<models::CausalModel> model_on(at::Device device, const riesz::Layout& layout,
                                              const models::CausalConfig& config) {
  auto model = models::make_causal_model(layout, config);
  model->module().initialise(7, at::kDouble, device);
  return model;
}

TEST(OnADevice, TextsAreThoseOfTheCpu) {
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    std::vector<riesz::Layout> layouts{spaces::one_d(alone())};
    if (Runtime::size() == 2) layouts = small_layouts(config);
    for (const riesz::Layout& layout : layouts) {
      SCOPED_TRACE(layout.name);
      const auto here = model_on(at::kCPU, layout, config),
                 there = model_on(pretend_device(), layout, config);
      const TextModel model = models::text_model(*here), far = models::text_model(*there);
      EXPECT_EQ(written(far, 5), written(model, 5));
      const std::vector<TokenId>& text = kPrompts[2];
      const EvaluateOptions options{.window = 4, .stride = 2, .at_once = 2};
      EXPECT_NEAR(evaluate_text(far, text, options).loss, evaluate_text(model, text, options).loss, 1e-12);
    }
  }
}

std::int64_t reads_for(const TextModel& model, std::int64_t tokens) {
  reset_host_reads();
  generate(model, {kPrompts[0], kPrompts[0]}, options_for(tokens));
  std::int64_t all = 0;
  for (const auto& [name, count] : host_reads()) all += count;
  return all;
}

TEST(OnADevice, ATokenIsOneReadOfTheHost) {
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    const auto model = model_on(pretend_device(), spaces::one_d(alone()), config);
    reads_for(models::text_model(*model), 1);
    const std::int64_t few = reads_for(models::text_model(*model), 2);
    EXPECT_EQ(reads_for(models::text_model(*model), 5) - few, 3);
  }
}

}  // namespace
}  // namespace riesz::testing
