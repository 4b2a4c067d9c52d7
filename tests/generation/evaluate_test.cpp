// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>

#include "riesz/nn/context.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/error.h"
#include "small_models.h"

namespace riesz::testing {
namespace {

void expect_each_token_scored_once(std::int64_t tokens, std::int64_t window, std::int64_t stride) {
  std::int64_t scored = 0;
  for (const TextWindow& each : text_windows(tokens, window, stride)) {
    EXPECT_EQ(each.scored, scored);
    EXPECT_EQ(each.length, std::min(window, tokens - 1));
    EXPECT_TRUE(each.begin <= each.scored && each.scored < each.begin + each.length);
    EXPECT_TRUE(scored == 0 || each.scored - each.begin >= window - stride);
    scored = each.begin + each.length;
  }
  EXPECT_EQ(scored, tokens - 1);
}

TEST(TextWindows, JudgeEveryTokenOnceWithEnoughBefore) {
  for (const std::int64_t tokens : {2, 3, 11, 12, 40}) {
    for (const auto& [window, stride] : {std::pair{1, 1}, {4, 1}, {4, 3}, {4, 4}, {11, 2}, {11, 11}})
      expect_each_token_scored_once(tokens, window, stride);
  }
  EXPECT_EQ(text_windows(11, 4, 3), (std::vector<TextWindow>{{0, 4, 0}, {3, 4, 4}, {6, 4, 7}}));
}

std::vector<TokenId> text_of(std::size_t n) {
  std::vector<TokenId> text;
  for (std::size_t i = 0; i < n; ++i) text.push_back(static_cast<TokenId>(i * i * 31 % 97));
  return text;
}

/// The mean of −log p over a text, window by window, from log_softmax.
double plain_loss(models::CausalModel& model, const std::vector<TokenId>& text, std::int64_t window,
                  std::int64_t stride) {
  const at::NoGradGuard no_gradient;
  const ContextScope evaluating({.training = false});
  double sum = 0;
  for (const TextWindow& each : text_windows(static_cast<std::int64_t>(text.size()), window, stride)) {
    at::Tensor ids = at::arange(each.length, at::kLong).unsqueeze(0);
    for (std::int64_t i = 0; i < each.length; ++i)
      ids[0][i] = static_cast<std::int64_t>(text[static_cast<std::size_t>(each.begin + i)]);
    const at::Tensor logits =
        full_tensor(model.logits(distribute(model.tokens().with_shape({1, each.length}), ids)));
    const at::Tensor log_p = at::log_softmax(logits, -1);
    for (std::int64_t at = each.scored; at < each.begin + each.length; ++at)
      sum -= log_p[0][at - each.begin][static_cast<std::int64_t>(text[static_cast<std::size_t>(at + 1)])]
                 .item<double>();
  }
  return sum / static_cast<double>(text.size() - 1);
}

TEST(Evaluate, IsTheMeanOfMinusLogPAtEveryLayout) {
  const std::vector<TokenId> text = text_of(31);
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    const double expected = plain_loss(*small_model(spaces::one_d(alone()), config), text, 12, 5);
    for (const riesz::Layout& layout : small_layouts(config)) {
      SCOPED_TRACE(layout.name);
      const auto model = small_model(layout, config);
      const Evaluated all =
          evaluate_text(models::text_model(*model), text, {.window = 12, .stride = 5, .at_once = 3});
      EXPECT_NEAR(all.loss, expected, 1e-12);
      EXPECT_EQ(all.scored, 30);
      EXPECT_EQ(all.windows, 5);
    }
  }
}

TEST(EvaluateAlone, SaysWhatDoesNotFit) {
  const auto model = small_model(spaces::one_d(alone()), small_configs()[0]);
  const auto tried = [&](const std::vector<TokenId>& text, const EvaluateOptions& options = {}) {
    evaluate_text(models::text_model(*model), text, options);
  };
  EXPECT_ERROR(tried({1}), "the text has 1 token");
  EXPECT_ERROR(tried({1, 97}), "the token 97", "vocabulary is of 97");
  EXPECT_ERROR(tried({1, 2}, {.window = 13}), "a window of 13 tokens", "context, 12");
  EXPECT_ERROR(tried({1, 2}, {.window = 4, .stride = 5}), "a stride of 5 tokens", "the window, 4");
}

}  // namespace
}  // namespace riesz::testing
