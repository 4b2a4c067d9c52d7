// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Dropout's draws on a device: of the CPU's bits, and drawn there.
#include "riesz/nn/layers/dropout.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/philox_words.h"
#include "riesz/nn/random/random.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// `first`, words of all bits and of none among them.
std::vector<std::int64_t> counters() {
  const std::int64_t word = std::int64_t{1} << 32;
  return {0, 1, 2, word - 1, word, word + 1, 0x123456789ABCDEF, std::numeric_limits<std::int64_t>::max()};
}

TEST(OnADevice, PhiloxIsThatOfTheCpu) {
  for (const std::uint64_t key : {std::uint64_t{0}, philox_key(1, "a"), ~std::uint64_t{0}}) {
    for (const std::uint64_t high : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
      const at::Tensor words =
          at::stack(detail::philox_words(key, at::tensor(counters()).to(pretend_device()), high)).cpu();
      for (std::size_t i = 0; i < counters().size(); ++i) {
        const auto expected = philox(key, static_cast<std::uint64_t>(counters()[i]), high);
        for (std::int64_t lane = 0; lane < 4; ++lane) {
          EXPECT_EQ(words[lane][static_cast<std::int64_t>(i)].item<std::int64_t>(),
                    static_cast<std::int64_t>(expected[static_cast<std::size_t>(lane)]));
        }
      }
    }
  }
}

void expect_mask_there(const std::vector<std::int64_t>& shape, const Boxes& boxes, at::ScalarType type) {
  const at::Tensor here = detail::dropout_mask(shape, boxes, 42, 3, 0.3, type);
  std::optional<NoHostReads> none(std::in_place);
  const at::Tensor there =
      detail::dropout_mask(shape, boxes, 42, 3, 0.3, at::device(pretend_device()).dtype(type));
  none.reset();
  expect_there(there, here);
}

TEST(OnADevice, MasksAreThoseOfTheCpu) {
  const int n = Runtime::size();
  const Space even(row(), {3, 5, 16}), odd(row(), {3, 5, 7}), alone(row(), {}), flat(row(), {9});
  for (const Space& X :
       {even, even.sharded(0, "a"), even.sharded(2, "a"), even.sharded(2, "a", Split::balanced(16, n, 4)),
        even.sharded(1, "a", Split::zigzag(5, n)), odd, odd.sharded(2, "a", Split::zigzag(7, n)), alone, flat,
        flat.sharded(0, "a")}) {
    SCOPED_TRACE(to_string(X));
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf})
      expect_mask_there(X.shape(), X.boxes(X.partition().rank()), type);
  }
  expect_mask_there({2, 3, 8, 12}, {{{1, 2}}, {{0, 1}, {2, 3}}, {{1, 3}, {6, 8}}, {{0, 4}, {8, 12}}},
                    at::kFloat);
  expect_mask_there({2, 3, 8, 12}, {{{1, 2}}, {{0, 3}}, {{1, 3}}, {{0, 3}, {8, 12}}}, at::kFloat);
  expect_mask_there({2, 3, 8, 12}, {{{1, 2}}, {{0, 3}}, {}, {{0, 3}}}, at::kFloat);
}

TEST(OnADevice, LargeMasksAreThoseOfTheCpu) {
  if (Runtime::size() > 1) return;  // it is local
  const std::int64_t many = (std::int64_t{1} << 20) + 3, far = std::int64_t{1} << 33;
  expect_mask_there({many}, {{{0, many}}}, at::kFloat);
  expect_mask_there({4 * many}, {{{0, 4 * many}}}, at::kFloat);
  expect_mask_there({far, 3}, {{{far - 2, far}}, {{0, 3}}}, at::kFloat);
}

std::vector<at::Tensor> dropped(const Space& X, at::Device device, bool attends) {
  const ContextScope context({.training = true, .seed = 5, .step = 2, .first_row = 1, .rows = 4});
  const Dropout dropout("drop", 0.4);
  const Vector x(X, random_vector(X, 1, true).local().to(device).requires_grad_());
  const Vector ybar(dual(X), random_vector(dual(X), 2, true).local().to(device));
  Chain chain;
  std::optional<NoHostReads> none;
  if (Runtime::size() == 1) none.emplace();  // else messages go through the host
  const Vector y = attends ? attention(x, x, x, {.causal = true, .dropout = &dropout}) : dropout.forward(x);
  const at::Tensor xbar = pullback(y, ybar, {x}).front().local();
  return {y.local().detach(), xbar};
}

TEST(OnADevice, DropoutDropsThereWhatItDropsHere) {
  const Space X(row(), {2, 7, 3, 4});
  for (const Space& S : {X, X.sharded(1, "a"), X.sharded(2, "a")}) {
    SCOPED_TRACE(to_string(S));
    const std::vector<at::Tensor> here = dropped(S, at::kCPU, false),
                                  far = dropped(S, pretend_device(), false);
    for (std::size_t i = 0; i < here.size(); ++i) expect_there(far[i], here[i]);
    if (S != X || Runtime::size() == 1)
      expect_close_there([&](at::Device device) { return dropped(S, device, true); });
  }
}

}  // namespace
}  // namespace riesz::testing
