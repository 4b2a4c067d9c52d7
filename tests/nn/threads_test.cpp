// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Several threads may call one model: with batches of different shapes, with gradients and without.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/remainder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "riesz/nn/layers/activation.h"
#include "riesz/nn/layers/embedding.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/norm/norm.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

class Rows : public Layer<Rows> {
 public:
  explicit Rows(const Partition& P) : Layer("rows"), P_(P) {}
  Vector forward(const Vector& ids) { return down(gelu(norm(up(embed(ids))))); }
  std::string describe() const override { return "Rows"; }

 private:
  Space rows(std::int64_t width) const { return Space(P_, {Space::any, width}); }

  Partition P_;
  Embedding embed{{*this, "embed"}, Space(P_, {Space::any}), Space(P_, {11, 6}), rows(6)};
  Linear up{{*this, "up"}, "bi,io->bo", rows(6), Space(P_, {6, 8}), rows(8)};
  LayerNorm norm{{*this, "norm"}, rows(8)};
  Linear down{{*this, "down"}, "bi,io->bo", rows(8), Space(P_, {8, 3}), rows(3)};
};

Vector ids_of(const Partition& P, std::int64_t rows) {
  return {Space(P, {rows}), at::remainder(at::arange(rows, at::kLong).mul(5), 11)};
}

TEST(Threads, CallOneModelAtOnce) {
  constexpr int kThreads = 2, kCalls = 200;
  constexpr std::int64_t kShapes = 7;  // more than a layer keeps plans of
  const Partition P = Partition::world();
  Rows model(P);
  model.initialise(1, at::kDouble);
  std::vector<at::Tensor> expected;
  for (std::int64_t rows = 1; rows <= kShapes; ++rows) {
    const at::NoGradGuard no_gradient;
    expected.push_back(model(ids_of(P, rows)).local());
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      at::init_num_threads();
      for (int call = 0; call < kCalls; ++call) {
        const std::int64_t rows = 1 + (call * (thread + 1)) % kShapes;
        const bool recorded = call % 2 == 0;
        const at::AutoGradMode mode(recorded);
        std::optional<Chain> chain;
        if (recorded) chain.emplace(1 + thread);
        wrong += !at::equal(model(ids_of(P, rows)).local(), expected[static_cast<std::size_t>(rows - 1)]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace riesz::testing
