// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Two threads train one model at once, forward and backward, each in a channel of its own.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "riesz/models/llama.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/tokens.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kShapes = 3;
constexpr std::int64_t kCalls = 12;

std::int64_t shape_of(int thread, std::int64_t call) { return call * (thread + 1) % kShapes; }

models::MinGptConfig sizes_of(const models::MinGpt*) {
  return {.layers = 2, .heads = 4, .width = 16, .vocabulary = 32, .context = 8, .dropout = 0};
}

models::LlamaConfig sizes_of(const models::Llama*) {
  return {.layers = 2,
          .heads = 4,
          .key_value_heads = 2,
          .width = 16,
          .hidden = 24,
          .vocabulary = 32,
          .context = 8};
}

/// The gradients of the loss of batch number `shape`, of a size of its own, in all weights.
template <typename Model>
std::vector<at::Tensor> pulled_back(Model& model, std::int64_t shape, int channel) {
  const TokenDraws draws{3, 2 + shape, 8 - shape, 32};
  Chain chain(channel);
  const Vector logits = model(on(model.tokens(), drawn_ids(draws, 0)));
  const Vector loss = cross_entropy(logits, on(model.targets(), drawn_targets(draws, 0))).mean();
  const Vector ones(dual(loss.space()), at::ones_like(loss.local()));
  std::vector<Vector> weights;
  for (const Parameter& each : model.parameters()) weights.push_back(each.value());
  std::vector<at::Tensor> gradients;
  for (const Vector& each : pullback(loss, ones, weights)) gradients.push_back(each.local());
  return gradients;
}

/// What both threads do, beside one another.
void in_two_threads(const std::function<void(int)>& run) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&run, thread] {
      at::init_num_threads();
      run(thread);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

template <typename Model>
void expect_alike_in_two_threads(const Layout& layout) {
  SCOPED_TRACE(layout.name);
  Model model(layout, sizes_of(static_cast<const Model*>(nullptr)));
  model.initialise(1, at::kDouble);
  std::vector<std::vector<at::Tensor>> found[2];
  in_two_threads([&](int thread) {  // which make the plans, for none was called before
    for (std::int64_t call = 0; call < kCalls; ++call)
      found[thread].push_back(pulled_back(model, shape_of(thread, call), 1 + thread));
  });
  Model other(layout, sizes_of(static_cast<const Model*>(nullptr)));
  other.initialise(1, at::kDouble);
  std::vector<std::vector<at::Tensor>> expected;
  for (std::int64_t shape = 0; shape < kShapes; ++shape) expected.push_back(pulled_back(other, shape, 0));
  int wrong = 0;
  for (int thread = 0; thread < 2; ++thread) {
    for (std::int64_t call = 0; call < kCalls; ++call) {
      const auto& here = found[thread][static_cast<std::size_t>(call)];
      const auto& there = expected[static_cast<std::size_t>(shape_of(thread, call))];
      for (std::size_t i = 0; i < there.size(); ++i) wrong += !at::equal(here[i], there[i]);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsOfModels, TrainAGptAtOnce) {
  const Partition mesh = Partition::world().grid({{"tp", Partition::world().size()}});
  expect_alike_in_two_threads<models::MinGpt>(spaces::one_d(mesh));
  expect_alike_in_two_threads<models::MinGpt>(spaces::sequence_parallel(mesh));
}

TEST(ThreadsOfModels, TrainALlamaAtOnce) {
  const Partition mesh = Partition::world().grid({{"tp", Partition::world().size()}});
  expect_alike_in_two_threads<models::Llama>(spaces::one_d(mesh));
  expect_alike_in_two_threads<models::Llama>(spaces::sequence_parallel(mesh));
}

}  // namespace
}  // namespace riesz::testing
