// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "riesz/io/draws.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
const std::vector<float> kLogits{1, 3, kNever, 2, 3, -1};

std::map<TokenId, double> probabilities(const SamplingOptions& options,
                                        const std::vector<float>& logits = kLogits,
                                        const std::vector<TokenId>& text = {}) {
  std::map<TokenId, double> all;
  for (const TokenProbability& each : token_probabilities(logits.data(), logits.size(), text, options))
    all[each.id] = each.probability;
  return all;
}

void expect_like(const std::map<TokenId, double>& all, const std::map<TokenId, double>& weights) {
  double sum = 0;
  for (const auto& [id, weight] : weights) sum += weight;
  ASSERT_EQ(all.size(), weights.size());
  for (const auto& [id, weight] : weights) EXPECT_NEAR(all.at(id), weight / sum, 1e-15) << id;
}

TEST(Sampling, TakesTheSoftmaxOfWhatIsLeft) {
  const auto e = [](double x) { return std::exp(x); };
  expect_like(probabilities({.temperature = 1}), {{0, e(1)}, {1, e(3)}, {3, e(2)}, {4, e(3)}, {5, e(-1)}});
  expect_like(probabilities({.temperature = 0.5}), {{0, e(2)}, {1, e(6)}, {3, e(4)}, {4, e(6)}, {5, e(-2)}});
  expect_like(probabilities({.temperature = 1e-310, .top_p = 0.9}), {{1, 1}, {4, 1}});
  expect_like(probabilities({.temperature = 1, .top_k = 3}), {{1, e(3)}, {3, e(2)}, {4, e(3)}});
  expect_like(probabilities({.temperature = 1, .top_k = 1}), {{1, 1}});
  expect_like(probabilities({.temperature = 1, .top_k = 99}), probabilities({.temperature = 1}));
  const double all = 2 * e(3) + e(2) + e(1) + e(-1);
  expect_like(probabilities({.temperature = 1, .top_p = e(3) / all - 1e-9}), {{1, 1}});
  expect_like(probabilities({.temperature = 1, .top_p = e(3) / all + 1e-9}), {{1, 1}, {4, 1}});
  expect_like(probabilities({.temperature = 1, .top_p = 0.83}), {{1, e(3)}, {3, e(2)}, {4, e(3)}});
  expect_like(probabilities({.temperature = 1, .top_k = 3, .top_p = 0.83}), {{1, 1}, {4, 1}});
}

TEST(Sampling, TakesTheLikeliestWithoutATemperature) {
  EXPECT_EQ(choose_token(kLogits.data(), 6, {}, {.top_k = 4, .top_p = 0.9}, 0.99), 1u);
  EXPECT_EQ(choose_token(kLogits.data(), 6, {1, 1}, {.repetition_penalty = 1.1}, 0.99), 4u);
}

/// Once for each token of the text, however often it stands there.
TEST(Sampling, PenalisesWhatTheTextHas) {
  const std::vector<float> logits{2, 2, -2, -2};
  const SamplingOptions options{.repetition_penalty = 2, .temperature = 1};
  expect_like(probabilities(options, logits, {1, 2, 2, 1, 9}),
              {{0, std::exp(2)}, {1, std::exp(1)}, {2, std::exp(-4)}, {3, std::exp(-2)}});
}

/// Each token's part of [0, 1) is as long as its probability.
TEST(Sampling, DrawsAsOftenAsItIsLikely) {
  std::vector<float> logits(200);
  Draws draws(5, "logits");
  for (float& each : logits) each = static_cast<float>(6 * draws.uniform());
  const SamplingOptions options{.temperature = 0.8, .top_k = 50, .top_p = 0.9};
  const std::map<TokenId, double> all = probabilities(options, logits);
  std::map<TokenId, int> counts;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i)
    ++counts[choose_token(logits.data(), logits.size(), {}, options, (i + 0.5) / kDraws)];
  ASSERT_EQ(counts.size(), all.size());
  EXPECT_LT(all.size(), 50u);
  for (const auto& [id, count] : counts) EXPECT_NEAR(count / double{kDraws}, all.at(id), 1.0 / kDraws) << id;
  const TokenId last = std::prev(all.end())->first;
  EXPECT_EQ(choose_token(logits.data(), logits.size(), {}, options, std::nextafter(1.0, 0.0)), last);
}

TEST(Sampling, SaysWhatIsOutOfRange) {
  EXPECT_ERROR(check_sampling({.repetition_penalty = 0}), "a repetition penalty of 0");
  EXPECT_ERROR(check_sampling({.temperature = -1}), "a temperature of -1");
  EXPECT_ERROR(check_sampling({.temperature = NAN}), "a temperature of nan");
  EXPECT_ERROR(check_sampling({.top_k = -1}), "a top-k of -1");
  EXPECT_ERROR(check_sampling({.top_p = 0}), "a top-p of 0");
  EXPECT_ERROR(check_sampling({.top_p = 1.5}), "a top-p of 1.5");
  for (const SamplingOptions& options : {SamplingOptions{}, {.repetition_penalty = 2}, {.temperature = 1}}) {
    for (const std::vector<float>& logits :
         std::vector<std::vector<float>>{{1, NAN}, {NAN, 1}, {INFINITY, 1}, {kNever, kNever}, {}})
      EXPECT_ERROR(token_probabilities(logits.data(), logits.size(), {}, options),
                   "logits that are not finite");
  }
}

}  // namespace
}  // namespace riesz::testing
