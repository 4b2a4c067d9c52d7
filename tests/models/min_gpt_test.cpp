// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr int kSteps = 5;

/// Odd sizes: no layout divides 97 words, 3 heads or 5 sequences evenly.
const Problem kOdd{
    {.layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0.1}, 5, 7};

/// Fewer heads, sequences and words than workers: many shards are empty.
const Problem kTiny{
    {.layers = 1, .heads = 2, .width = 6, .vocabulary = 5, .context = 4, .dropout = 0.1}, 2, 3};

/// All dp × tp of the job's workers.
std::vector<Partition> meshes() {
  std::vector<Partition> all;
  for (int dp = 1; dp <= Runtime::size(); ++dp) {
    if (Runtime::size() % dp == 0)
      all.push_back(Partition::world().grid({{"dp", dp}, {"tp", Runtime::size() / dp}}));
  }
  return all;
}

Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}); }

/// On every mesh the run of one worker, and of plain LibTorch from the same weights with the same masks.
void expect_the_same_everywhere(const Problem& problem, const std::vector<Partition>& all) {
  const TrainingRun one_worker = train(problem, alone(), kSteps);
  const TrainingRun plain = train_plainly(problem, one_worker, kSteps);
  EXPECT_TRUE(compare_runs(one_worker, plain)) << "one worker beside plain LibTorch";
  for (const Partition& mesh : all) {
    const TrainingRun run = train(problem, mesh, kSteps);
    if (!mesh.active()) continue;
    EXPECT_TRUE(compare_runs(run, one_worker)) << to_string(mesh) << " beside one worker";
    EXPECT_TRUE(compare_runs(run, plain)) << to_string(mesh) << " beside plain LibTorch";
  }
}

TEST(MinGpt, IsTheOneWorkerAndThePlainModelAtEveryLayout) { expect_the_same_everywhere(kOdd, meshes()); }

TEST(MinGpt, IsTheSameWithMoreWorkersThanHeadsSequencesAndWords) {
  expect_the_same_everywhere(kTiny, meshes());
}

TEST(MinGpt, IsTheSameOnSomeOfTheWorkersInAnyOrder) {
  std::vector<int> ranks;
  for (int rank = Runtime::size() - 1; rank > 0; --rank) ranks.push_back(rank);
  if (ranks.empty()) ranks = {0};
  const Partition others = Partition::world().subset(ranks);
  expect_the_same_everywhere(kTiny, {others.grid({{"tp", others.size()}, {"dp", 1}}),
                                     others.grid({{"dp", others.size()}, {"tp", 1}})});
}

/// What a published model may say otherwise.
TEST(MinGpt, IsTheSameWithNumbersOfItsOwn) {
  Problem other = kOdd;
  other.config.hidden = 22;
  other.config.epsilon = 1e-3;
  other.config.activation = "relu";
  other.config.embedding_dropout = 0;
  other.config.attention_dropout = 0.3;
  expect_the_same_everywhere(other, {meshes().front()});
  EXPECT_FALSE(compare_runs(train(other, alone(), 1), train(kOdd, alone(), 1)));
}

TEST(MinGpt, DropoutChangesTheRun) {
  Problem without = kOdd;
  without.config.dropout = 0;
  EXPECT_FALSE(compare_runs(train(without, alone(), 1), train(kOdd, alone(), 1)));
}

/// (name, published shape) of Hugging Face's GPT-2 with two layers, and minGPT's own output layer.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> published() {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> list{{"transformer.wte.weight", {97, 15}},
                                                                      {"transformer.wpe.weight", {8, 15}}};
  for (const std::string h : {"transformer.h.0.", "transformer.h.1."}) {
    for (const auto& [name, shape] :
         std::vector<std::pair<std::string, std::vector<std::int64_t>>>{{"ln_1.weight", {15}},
                                                                        {"ln_1.bias", {15}},
                                                                        {"attn.c_attn.weight", {15, 45}},
                                                                        {"attn.c_attn.bias", {45}},
                                                                        {"attn.c_proj.weight", {15, 15}},
                                                                        {"attn.c_proj.bias", {15}},
                                                                        {"ln_2.weight", {15}},
                                                                        {"ln_2.bias", {15}},
                                                                        {"mlp.c_fc.weight", {15, 60}},
                                                                        {"mlp.c_fc.bias", {60}},
                                                                        {"mlp.c_proj.weight", {60, 15}},
                                                                        {"mlp.c_proj.bias", {15}}}) {
      list.emplace_back(h + name, shape);
    }
  }
  list.emplace_back("transformer.ln_f.weight", std::vector<std::int64_t>{15});
  list.emplace_back("transformer.ln_f.bias", std::vector<std::int64_t>{15});
  list.emplace_back("lm_head.weight", std::vector<std::int64_t>{97, 15});
  return list;
}

TEST(MinGpt, HasThePublishedNamesAndShapes) {
  for (const Partition& mesh : meshes()) {
    const models::MinGpt model(spaces::one_d(mesh), kOdd.config);
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> list;
    for (const Parameter& parameter : model.parameters())
      list.emplace_back(parameter.name(), parameter.shape());
    EXPECT_EQ(list, published());
  }
}

TEST(MinGpt, StartsAsGpt2Does) {
  const models::MinGptConfig config{.layers = 2, .heads = 2, .width = 64, .vocabulary = 80, .context = 64};
  models::MinGpt model(spaces::one_d(alone()), config);
  model.initialise(kSeed, at::kDouble);
  for (const Parameter& parameter : model.parameters()) {
    const std::string& name = parameter.name();
    const at::Tensor& value = parameter.value().local();
    const bool norm = name.find("ln_") != std::string::npos;
    const bool table = name.starts_with("transformer.w");  // wte and wpe
    if (name.ends_with(".bias") || norm) {
      EXPECT_TRUE(value.eq(name.ends_with(".bias") ? 0 : 1).all().item<bool>()) << name;
      EXPECT_FALSE(parameter.decays()) << name;
      continue;
    }
    // the projections back into the residual stream, of which there are two a layer, start smaller
    const double deviation = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(4.0) : 0.02;
    EXPECT_NEAR(value.square().mean().sqrt().item<double>(), deviation, 0.06 * deviation) << name;
    EXPECT_EQ(parameter.decays(), !table) << name;
  }
}

TEST(MinGpt, SaysWhatDoesNotFit) {
  const auto make = [](const models::MinGptConfig& config) {
    models::MinGpt(spaces::one_d(alone()), config);
  };
  EXPECT_ERROR(make({.heads = 4, .width = 15}), "a width of 15", "no multiple of 4 heads");
  EXPECT_ERROR(make({.layers = 0}), "layers 0", "at least 1");
  models::MinGpt model(spaces::one_d(alone()), kOdd.config);
  model.initialise(kSeed, at::kDouble);
  const Problem longer{kOdd.config, 1, 9};
  const Space tokens = model.tokens().with_shape({1, 9});
  EXPECT_ERROR(model(distribute(tokens, ids_of(longer, 0))), "a sequence of 9 tokens", "context of 8");
}

}  // namespace
}  // namespace riesz::testing
