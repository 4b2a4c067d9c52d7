// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training step that was made before makes no text, no space and no partition: plans have them.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "riesz/comm/descriptions.h"
#include "riesz/models/llama.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/tokens.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr TokenDraws kDraws{3, 4, 8, 32};

models::MinGptConfig config_of(const models::MinGpt*) {
  return {.layers = 2, .heads = 4, .width = 16, .vocabulary = 32, .context = 8, .dropout = 0.1};
}

models::LlamaConfig config_of(const models::Llama*) {
  return {.layers = 2,
          .heads = 4,
          .key_value_heads = 2,
          .width = 16,
          .hidden = 24,
          .vocabulary = 32,
          .context = 8};
}

/// A model in training at a layout.
template <typename Model>
class Trained {
 public:
  Trained(const Layout& layout, const std::optional<int>& zero_stage)
      : model_(layout, config_of(static_cast<const Model*>(nullptr))) {
    model_.initialise(1, at::kFloat);
    if (zero_stage) zero_.emplace(model_.parameters(), ZeroOptions{.stage = *zero_stage});
    store_ = zero_ ? zero_->store() : whole(model_.parameters());
    optimizer_.emplace(store_, AdamWOptions{});
    ids_.emplace(on(model_.tokens(), drawn_ids(kDraws, 0)));
    targets_.emplace(on(model_.targets(), drawn_targets(kDraws, 0)));
  }

  /// Of two micro-batches.
  void step(std::int64_t number) {
    for (int i = 0; i < 2; ++i) {
      if (zero_) zero_->begin(i, 2);
      const ContextScope scope({.training = true, .seed = 5, .step = number, .first_row = 0, .rows = 4});
      const Chain chain;
      backward(cross_entropy(model_(*ids_), *targets_).mean());
    }
    clip_gradients(*store_, 1.0);
    optimizer_->step();
    optimizer_->zero_gradients();
  }

 private:
  Model model_;
  std::optional<Zero> zero_;
  std::shared_ptr<Store> store_;
  std::optional<AdamW> optimizer_;
  std::optional<Vector> ids_, targets_;
};

/// By itself, so that a profiler can begin and end with it.
template <typename Model>
[[gnu::noinline]] void warm_step(Trained<Model>& trained, std::int64_t number) {
  trained.step(number);
}

template <typename Model>
void expect_nothing_made(const Layout& layout, const std::optional<int>& zero_stage = std::nullopt) {
  SCOPED_TRACE(layout.name + (zero_stage ? ", ZeRO " + std::to_string(*zero_stage) : ""));
  Trained<Model> trained(layout, zero_stage);
  constexpr int kFirst = 3;  // ZeRO knows the order of units after two
  for (int i = 0; i < kFirst; ++i) trained.step(i);
  const detail::Descriptions before = detail::descriptions_made();
  warm_step(trained, kFirst);
  const detail::Descriptions now = detail::descriptions_made();
  EXPECT_EQ(now.texts - before.texts, 0);
  EXPECT_EQ(now.spaces - before.spaces, 0);
  EXPECT_EQ(now.partitions - before.partitions, 0);
}

template <typename Model>
void expect_nothing_made_anywhere() {
  const Partition world = Partition::world();
  const Partition mesh = world.grid({{"tp", world.size()}}), data = world.grid({{"dp", world.size()}});
  expect_nothing_made<Model>(spaces::one_d(mesh));
  expect_nothing_made<Model>(spaces::sequence_parallel(mesh));
  for (const int stage : {0, 1, 2, 3}) expect_nothing_made<Model>(spaces::one_d(data), stage);
  if (world.size() < 4) return;
  const Partition both = world.grid({{"dp", 2}, {"tp", 2}});
  expect_nothing_made<Model>(spaces::sequence_parallel(both), 3);
  expect_nothing_made<Model>(spaces::two_d(world.grid({{"row", 2}, {"column", 2}})));
}

TEST(WarmSteps, OfAGptMakeNothing) { expect_nothing_made_anywhere<models::MinGpt>(); }

TEST(WarmSteps, OfALlamaMakeNothing) { expect_nothing_made_anywhere<models::Llama>(); }

}  // namespace
}  // namespace riesz::testing
