// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The same tokens at every layout, in any company, with and without caches.
#include "riesz/generation/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>

#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/full_tensor.h"
#include "riesz/testing/error.h"
#include "small_models.h"

namespace riesz::testing {
namespace {

using Prompts = std::vector<std::vector<TokenId>>;

const Prompts kPrompts{{5, 1, 33, 2, 96}, {7, 7}, {90, 4, 11, 50, 2, 8, 61}};

GenerateOptions drawn(std::int64_t tokens = 5) {
  return {.sampling = {.repetition_penalty = 1.3, .temperature = 0.9, .top_k = 60, .top_p = 0.95},
          .seed = 3,
          .tokens = tokens,
          .read_at_once = 3};
}

std::vector<std::vector<TokenId>> tokens_of(const Generated& all) {
  std::vector<std::vector<TokenId>> tokens;
  for (const GeneratedText& each : all.texts) tokens.push_back(each.tokens);
  return tokens;
}

/// Each token from the whole text so far, by a model that keeps nothing; of a full context the newer half.
std::vector<TokenId> without_caches(models::CausalModel& model, std::vector<TokenId> text, std::size_t prompt,
                                    const GenerateOptions& options) {
  const at::NoGradGuard no_gradient;
  const ContextScope evaluating({.training = false});
  const std::size_t begin = text.size();
  const auto context = static_cast<std::size_t>(models::context_of(model.config()));
  std::size_t first = 0;
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    if (text.size() - first > context) first = text.size() - context / 2;
    const auto T = static_cast<std::int64_t>(text.size() - first);
    const at::Tensor ids = at::empty({1, T}, at::kLong);
    std::copy(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(),
              ids.mutable_data_ptr<std::int64_t>());
    const at::Tensor logits = full_tensor(model.logits(distribute(model.tokens().with_shape({1, T}), ids)))
                                  .select(1, T - 1)
                                  .to(at::kFloat)
                                  .contiguous();
    const auto words = philox(philox_key(options.seed, "generate"), text.size(), prompt);
    const double draw = static_cast<double>((std::uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
    text.push_back(choose_token(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.size(1)),
                                text, options.sampling, draw));
  }
  return {text.begin() + static_cast<std::ptrdiff_t>(begin), text.end()};
}

TEST(Generate, GivesTheSameTokensAtEveryLayoutAndWithoutCaches) {
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    const auto one_worker = small_model(spaces::one_d(alone()), config);
    std::vector<std::vector<TokenId>> expected;
    for (std::size_t i = 0; i < kPrompts.size(); ++i)
      expected.push_back(without_caches(*one_worker, kPrompts[i], i, drawn()));
    EXPECT_EQ(tokens_of(generate(models::text_model(*one_worker), kPrompts, drawn())), expected);
    if (Runtime::size() == 1) continue;
    for (const riesz::Layout& layout : small_layouts(config)) {
      SCOPED_TRACE(layout.name);
      const auto model = small_model(layout, config);
      EXPECT_EQ(tokens_of(generate(models::text_model(*model), kPrompts, drawn())), expected);
    }
  }
}

/// What this worker sends for one token more of each of two texts.
std::map<std::string, Traffic> sent_for_a_token(const TextModel& model) {
  const auto sent = [&](std::int64_t tokens) {
    Counters::instance().reset();
    GenerateOptions options = drawn(tokens);
    generate(model, {kPrompts[0], kPrompts[0]}, options);
    return Counters::instance().by_operation();
  };
  const std::map<std::string, Traffic> before = sent(4);
  std::map<std::string, Traffic> more;
  for (const auto& [name, traffic] : sent(5)) {
    const auto found = before.find(name);
    const Traffic each = found == before.end() ? traffic : traffic - found->second;
    if (!(each == Traffic{})) more[name] = each;
  }
  return more;
}

/// No weight, also where the token table is the output layer's (Llama): it went to the last stage each time.
TEST(Generate, SendsForATokenWhatAStageGivesTheNextAndTheLogitsBack) {
  const int p = Runtime::size();
  if (p != 2 && p != 3) return;  // stages of one rank
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    const auto model = small_model(in_stages(config, p), config);
    const std::int64_t B = 2, V = 97;
    const std::int64_t C = std::visit([](const auto& of) { return of.width; }, config);
    const std::int64_t bytes = 8;
    const std::map<std::string, Traffic> sent = sent_for_a_token(models::text_model(*model));
    const std::map<std::string, Traffic> expected =
        Runtime::rank() + 1 < p ? std::map<std::string, Traffic>{{"SendRecv", {B * C, bytes * B * C, 1}}}
                                : std::map<std::string, Traffic>{
                                      {"Repartition", {(p - 1) * B * V, bytes * (p - 1) * B * V, p - 1}}};
    EXPECT_EQ(sent, expected);
    for (const LentParameter& lent : model->module().lent())
      EXPECT_THROW(lent.here.leaf(), Error) << "afterwards it is brought at each use again";
  }
}

/// Each alone, two at once, and all.
TEST(GenerateAlone, GivesTheSameTokensInAnyCompany) {
  const auto model = small_model(spaces::one_d(alone()), small_configs()[2]);
  const auto expected = tokens_of(generate(models::text_model(*model), kPrompts, drawn()));
  for (const std::int64_t at_once : {1, 2}) {
    GenerateOptions options = drawn();
    options.at_once = at_once;
    EXPECT_EQ(tokens_of(generate(models::text_model(*model), kPrompts, options)), expected);
  }
  GenerateOptions other = drawn();
  other.seed = 4;
  EXPECT_NE(tokens_of(generate(models::text_model(*model), kPrompts, other)), expected);
  EXPECT_NE(tokens_of(generate(models::text_model(*model), {kPrompts[1], kPrompts[1]}, drawn()))[1],
            tokens_of(generate(models::text_model(*model), {kPrompts[1], kPrompts[1]}, drawn()))[0]);
}

TEST(GenerateAlone, SlidesOrEndsWhereTheContextIsFull) {
  for (const models::CausalConfig& config : small_configs()) {
    SCOPED_TRACE(models::kind_of(config));
    const auto model = small_model(spaces::one_d(alone()), config);
    GenerateOptions options = drawn(20);
    options.slide = true;
    const Generated all = generate(models::text_model(*model), kPrompts, options);
    for (std::size_t i = 0; i < kPrompts.size(); ++i)
      EXPECT_EQ(all.texts[i].tokens, without_caches(*model, kPrompts[i], i, options)) << i;
    EXPECT_GT(all.slid, 0);

    options.slide = false;
    options.tokens = std::numeric_limits<std::int64_t>::max();
    const Generated cut = generate(models::text_model(*model), kPrompts, options);
    const auto context = static_cast<std::size_t>(models::context_of(config));
    for (std::size_t i = 0; i < kPrompts.size(); ++i) {
      EXPECT_EQ(cut.texts[i].tokens.size(), context - kPrompts[i].size() + 1);
      EXPECT_EQ(cut.texts[i].why, Ended::context);
    }
  }
}

TEST(GenerateAlone, EndsAtATokenAtAWordOrAtACount) {
  const auto model = small_model(spaces::one_d(alone()), small_configs()[0]);
  const auto whole = tokens_of(generate(models::text_model(*model), kPrompts, drawn(4)));
  GenerateOptions options = drawn(4);
  options.end = {95, whole[0][2]};
  std::map<std::size_t, std::vector<TokenId>> heard;
  std::map<std::size_t, Ended> why;
  const auto take = [&](std::size_t prompt, TokenId token) {
    heard[prompt].push_back(token);
    return prompt != 1 || heard[prompt].size() < 2;
  };
  const auto ended = [&](std::size_t prompt, Ended because) { why.emplace(prompt, because); };
  const Generated all = generate(models::text_model(*model), kPrompts, options, {take, ended});
  const auto first = [](const std::vector<TokenId>& of, std::ptrdiff_t n) {
    return std::vector<TokenId>(of.begin(), of.begin() + n);
  };
  EXPECT_EQ(heard[0], first(whole[0], 3));
  EXPECT_EQ(heard[1], first(whole[1], 2));
  EXPECT_EQ(heard[2], whole[2]);
  EXPECT_EQ(why, (std::map<std::size_t, Ended>{{0, Ended::end}, {1, Ended::told}, {2, Ended::tokens}}));
  EXPECT_EQ(tokens_of(all), (Prompts{heard[0], heard[1], heard[2]}));
  EXPECT_EQ(all.read, 2 * 2 + 7);
}

TEST(PromptGroups, JoinsPromptsOfNearlyOneLength) {
  using Groups = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(prompt_groups({9, 2, 5, 2}, 7, 9), (Groups{{1, 3, 2, 0}}));
  EXPECT_EQ(prompt_groups({9, 2, 5, 2}, 6, 9), (Groups{{1, 3, 2}, {0}}));
  EXPECT_EQ(prompt_groups({9, 2, 5, 2}, 7, 2), (Groups{{1, 3}, {2, 0}}));
  EXPECT_EQ(prompt_groups({}, 7, 2), Groups{});
}

TEST(GenerateAlone, SaysWhatDoesNotFit) {
  const auto model = small_model(spaces::one_d(alone()), small_configs()[0]);
  const auto tried = [&](const Prompts& prompts, const GenerateOptions& options = drawn()) {
    generate(models::text_model(*model), prompts, options);
  };
  EXPECT_ERROR(tried({{}}), "the prompt has no tokens");
  EXPECT_ERROR(tried({{1}, std::vector<TokenId>(13)}), "prompt 2 has 13 tokens", "context is of 12");
  EXPECT_ERROR(tried({{97}}), "the prompt has the token 97", "vocabulary is of 97");
  EXPECT_ERROR(tried({{1}}, {.sampling = {.top_p = 2}}), "a top-p of 2");
  EXPECT_ERROR(tried({{1}}, {.tokens = 0}), "new tokens 0");
}

}  // namespace
}  // namespace riesz::testing
