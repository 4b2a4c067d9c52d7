// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/row_terms.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "few_rows.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/node.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

/// The loss of logits (n, v), which lie on this worker alone.
at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& targets,
                   const CrossEntropyOptions& options = {}) {
  const Partition one = Partition::simulated(1);
  return cross_entropy({Space(one, logits.sizes().vec()), logits},
                       {Space(one, targets.sizes().vec()), targets}, options)
      .sum.local();
}

at::Tensor exact(const at::Tensor& logits, const at::Tensor& targets, const CrossEntropyOptions& options) {
  return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, options.ignore, options.smoothing);
}

/// Rows whose greatest number lies in any block, and others that are as large.
at::Tensor some_logits(std::int64_t n, std::int64_t v) {
  at::Tensor x = floats({n, v}).mul(4);
  for (std::int64_t row = 0; row < n; ++row) x[row][(row * 1031 + v - 1) % v].add_(row % 3 == 0 ? 25 : 3);
  return x;
}

TEST(RowTerms, AreTorchsInFp64InBlocksOfAnyWidth) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const std::int64_t v : {1, 5, 16, 127, 2048, 2049, 5003}) {
      for (const double smoothing : {0.0, 0.2}) {
        const CrossEntropyOptions options{.ignore = 3, .smoothing = smoothing};
        const at::Tensor leaf = some_logits(7, v).to(type).requires_grad_();
        const at::Tensor global = leaf.detach().to(at::kDouble).requires_grad_();
        const at::Tensor targets = at::randint(v, {7}, at::kLong);

        // Of a tensor that nobody else holds: its gradient is written over it.
        const at::Tensor loss = loss_of(leaf.add(0), targets, options),
                         wanted = exact(global, targets, options);
        loss.backward(), wanted.backward();

        const double u = type == at::kDouble ? 1e-13 : 2e-6;
        EXPECT_NEAR(loss.item<double>(), wanted.item<double>(), u * std::max(1.0, wanted.item<double>()))
            << type << " " << v;
        const double rounding = type == at::kBFloat16 ? 4e-3 : (type == at::kHalf ? 5e-4 : 0);
        const at::Tensor bound = global.grad().abs().mul(1.01 * rounding).add(u);
        EXPECT_TRUE(leaf.grad().to(at::kDouble).sub(global.grad()).abs().le(bound).all().item<bool>())
            << type << " " << v;
      }
    }
  }
}

TEST(RowTerms, HaveTheSameBitsInAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  const at::Tensor logits = some_logits(97, 3001).requires_grad_(),
                   targets = at::randint(3001, {97}, at::kLong);
  const auto all = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor loss = loss_of(logits, targets, {.smoothing = 0.1});
    const at::Tensor gradient = torch::autograd::grad({loss}, {logits})[0];
    at::set_num_threads(before);
    return std::pair(loss.detach(), gradient);
  };
  const auto [loss, gradient] = all(1);
  for (const int threads : {2, 3, 5}) {
    const auto [again, its_gradient] = all(threads);
    EXPECT_TRUE(again.equal(loss)) << threads;
    EXPECT_TRUE(its_gradient.equal(gradient)) << threads;
  }
}

TEST(RowTerms, HoldNoSecondCopyOfTheLogits) {
  const std::int64_t n = 64, v = 5000;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor leaf = some_logits(n, v).to(type).requires_grad_();
    const at::Tensor targets = at::randint(v, {n}, at::kLong);
    const auto bytes = static_cast<std::int64_t>(leaf.nbytes());
    const MemoryMeter meter;
    at::Tensor loss = loss_of(leaf.add(0), targets);
    EXPECT_LT(MemoryMeter::peak(), bytes + bytes / 10) << "forward, " << type;
    const at::Tensor gradient = torch::autograd::grad({loss}, {leaf})[0];
    EXPECT_LT(MemoryMeter::peak(), bytes + bytes / 10) << "backward, " << type;
  }
}

/// x in memory of somebody else's.
class CopyTo final : public detail::Node {
 public:
  explicit CopyTo(float* memory) : memory_(memory) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    return {at::from_blob(memory_, inputs[0].sizes(), at::kFloat).copy_(inputs[0])};
  }
  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override { return gradients; }

 private:
  float* memory_;
};

/// Whoever else has the logits finds them as they were, and a second backward finds them too.
TEST(RowTerms, LeaveLogitsAloneThatOthersHold) {
  at::manual_seed(2);
  const at::Tensor leaf = some_logits(5, 40).requires_grad_(), targets = at::randint(40, {5}, at::kLong);
  const at::Tensor expected = torch::autograd::grad({loss_of(leaf, targets)}, {leaf})[0];
  const auto backward = [&](const at::Tensor& loss, bool keep) {
    return torch::autograd::grad({loss}, {leaf}, {}, keep);
  };
  using Held = std::function<at::Tensor(const at::Tensor&)>;
  for (const Held& held : {Held([](const at::Tensor& x) { return x; }),
                           Held([](const at::Tensor& x) { return x.narrow(0, 1, 2); }),
                           Held([](const at::Tensor& x) { return x.detach(); })}) {
    at::Tensor logits = leaf.add(0);
    const at::Tensor theirs = held(logits), before = theirs.detach().clone();
    const at::Tensor loss = loss_of(logits, targets);
    logits.reset();
    EXPECT_TRUE(backward(loss, false)[0].equal(expected));
    EXPECT_TRUE(theirs.equal(before));
  }
  {  // another node's, whose backward comes later
    at::Tensor logits = leaf.add(0);
    const at::Tensor squares = logits.square().sum(), loss = loss_of(logits, targets);
    logits.reset();
    EXPECT_TRUE(backward(loss.add(squares), false)[0].allclose(expected.add(leaf.mul(2))));
  }
  {  // a second backward
    const at::Tensor loss = loss_of(leaf.add(0), targets);
    EXPECT_TRUE(backward(loss, true)[0].equal(expected));
    EXPECT_TRUE(backward(loss, true)[0].equal(expected));
    EXPECT_TRUE(backward(loss, false)[0].equal(expected));
    EXPECT_THROW(backward(loss, false), c10::Error);
  }
  {  // memory that torch has not made
    std::vector<float> memory(200);
    const at::Tensor loss =
        loss_of(detail::record(std::make_shared<CopyTo>(memory.data()), {leaf})[0], targets);
    EXPECT_TRUE(backward(loss, false)[0].equal(expected));
    EXPECT_TRUE(at::from_blob(memory.data(), {5, 40}, at::kFloat).equal(leaf));
  }
}

}  // namespace
}  // namespace riesz::testing
