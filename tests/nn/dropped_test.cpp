// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The pass that draws and multiplies, beside Philox's words one by one.
#include "riesz/nn/random/dropped.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

using detail::DropoutDraws;

at::Tensor normal_numbers(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  return normal(Space(Partition::simulated(1), shape), seed);
}

std::vector<std::int64_t> indices(const Intervals& held) {
  std::vector<std::int64_t> all;
  for (const Interval& run : held)
    for (std::int64_t i = run.begin; i < run.end; ++i) all.push_back(i);
  return all;
}

/// The factors in fp64, element by element.
at::Tensor plain_mask(const DropoutDraws& draws) {
  std::vector<std::int64_t> sizes, global{0};
  for (std::size_t dim = 0; dim < draws.boxes.size(); ++dim) {
    const std::vector<std::int64_t> along = indices(draws.boxes[dim]);
    std::vector<std::int64_t> next;
    for (const std::int64_t before : global)
      for (const std::int64_t i : along) next.push_back(before * draws.shape[dim] + i);
    global = std::move(next);
    sizes.push_back(static_cast<std::int64_t>(along.size()));
  }
  at::Tensor mask = at::empty(sizes, at::kDouble);
  for (std::size_t i = 0; i < global.size(); ++i) {
    const auto index = static_cast<std::uint64_t>(global[i]);
    const std::uint32_t word = philox(draws.key, index / 4, draws.step)[index % 4];
    mask.mutable_data_ptr<double>()[i] =
        word < static_cast<std::uint64_t>(draws.p * 0x1p32) ? 0 : 1 / (1 - draws.p);
  }
  return mask;
}

std::vector<DropoutDraws> all_kinds() {
  const std::uint64_t key = philox_key(7, "drop"), far = std::uint64_t{1} << 40;
  const std::int64_t high =
      (std::int64_t{1} << 34) - 6;  // in the midst of a vector the counter has a new high word
  return {{{301}, {{{0, 301}}}, key, 3, 0.3},
          {{5, 3, 7}, {{{0, 5}}, {{0, 3}}, {{0, 7}}}, key, far + 1, 0.5},
          {{6, 9, 40}, {{{1, 3}, {5, 6}}, {{2, 9}}, {{0, 40}}}, key, 0, 0.1},
          {{6, 9, 40}, {{{0, 6}}, {{4, 5}, {0, 2}}, {{33, 40}, {1, 18}}}, key, 5, 0.9},
          {{2, 3, 70, 70}, {{{0, 2}}, {{1, 3}}, {{13, 14}, {60, 70}}, {{5, 70}}}, ~key, 1, 0.4},
          {{high + 999}, {{{high - 300, high + 300}}}, key, 2, 0.5},
          {{4, 5}, {{}, {{0, 5}}}, key, 2, 0.5},
          {{4, 5}, {{{0, 4}}, {}}, key, 2, 0.5},
          {{}, {}, key, 2, 0.5},
          {{999}, {{{0, 999}}}, key, 2, 0}};
}

/// Of the boxes' shape, with zeros, infinities and NaN among them, at no aligned address.
at::Tensor some_numbers(const DropoutDraws& draws, at::ScalarType type) {
  std::vector<std::int64_t> sizes;
  for (const Intervals& held : draws.boxes) sizes.push_back(total(held));
  const at::Tensor all = normal_numbers({volume(draws.boxes) + 1}, 3).to(type);
  const std::vector<double> odd{0.0, -0.0, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t i = 0; i < odd.size() && 7 * static_cast<std::int64_t>(i) < all.numel(); ++i)
    all.narrow(0, 7 * static_cast<std::int64_t>(i), 1).fill_(odd[i]);
  return all.narrow(0, 1, all.numel() - 1).view(sizes);
}

/// A NaN's own bits are no part of its value.
at::Tensor one_nan(const at::Tensor& x) { return x.masked_fill(x.isnan(), 7777); }

TEST(Dropped, HasTheBitsOfPhiloxWordByWord) {
  for (const DropoutDraws& draws : all_kinds()) {
    const at::Tensor mask = plain_mask(draws);
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(concat(at::IntArrayRef(draws.shape), " by ", draws.p, " in ", type));
      const at::Tensor x = some_numbers(draws, type);
      EXPECT_SAME_BITS(one_nan(detail::dropped(x, draws)), one_nan(x.mul(mask.to(type))));
      EXPECT_SAME_BITS(detail::dropout_mask(draws, type), mask.to(type));
    }
  }
}

TEST(Dropped, OfALieingVectorIsThatOfItsElements) {
  const DropoutDraws draws{{6, 9, 40}, {{{0, 6}}, {{0, 9}}, {{0, 40}}}, 42, 5, 0.4};
  const at::Tensor mask = plain_mask(draws).to(at::kFloat);
  const at::Tensor x = normal_numbers({9, 6, 80}, 1).to(at::kFloat).transpose(0, 1).slice(2, 0, 80, 2);
  EXPECT_SAME_BITS(detail::dropped(x, draws), x.mul(mask));
  EXPECT_SAME_BITS(detail::dropped(x.select(1, 0).unsqueeze(1).expand({6, 9, 40}), draws),
                   x.select(1, 0).unsqueeze(1).mul(mask));
  const at::Tensor turned = at::_neg_view(x.contiguous());
  EXPECT_SAME_BITS(detail::dropped(turned, draws), turned.mul(mask));
}

TEST(Dropped, RefusesOtherNumbersOfElementsThanAreDrawn) {
  const DropoutDraws draws{{6, 41}, {{{0, 6}}, {{0, 41}}}, 42, 5, 0.4};
  EXPECT_ERROR(detail::dropped(at::ones({6, 40}), draws), "dropout of 240 elements, drawn for 246");
}

TEST(Dropped, HasTheSameBitsByAnyNumberOfThreads) {
  const std::int64_t rows = 1001, columns = 131;
  const DropoutDraws whole{{rows, columns}, {{{0, rows}}, {{0, columns}}}, 42, 5, 0.4},
      parts{{rows, 2 * columns}, {{{0, rows}}, {{3, columns}, {columns + 7, columns + 10}}}, 42, 5, 0.4};
  const int before = at::get_num_threads();
  for (const DropoutDraws& draws : {whole, parts}) {
    const at::Tensor x = at::ones({rows, columns}, at::kFloat), expected = plain_mask(draws).to(at::kFloat);
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      EXPECT_SAME_BITS(detail::dropped(x, draws), expected) << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

TEST(Dropped, GoesBackAnyNumberOfTimesAndKeepsNothing) {
  const MemoryMeter meter;
  const DropoutDraws draws{{6, 41}, {{{0, 6}}, {{0, 41}}}, 42, 5, 0.4};
  const at::Tensor mask = plain_mask(draws);
  const at::Tensor x = normal_numbers({6, 41}, 1).requires_grad_(),
                   seed = normal_numbers({6, 41}, 2).requires_grad_();
  const auto holders = x.use_count();
  const std::int64_t before = MemoryMeter::alive();
  const at::Tensor y = detail::dropped(x, draws);
  EXPECT_EQ(x.use_count(), holders + 1) << "of the leaf's accumulator";
  EXPECT_EQ(y.storage().use_count(), 1U);
  EXPECT_EQ(MemoryMeter::alive() - before, static_cast<std::int64_t>(y.nbytes()));
  y.backward(seed, /*retain_graph=*/true, /*create_graph=*/true);
  const at::Tensor xbar = x.grad();
  EXPECT_SAME_BITS(xbar.detach(), seed.detach().mul(mask));
  const at::Tensor again = normal_numbers({6, 41}, 3);
  xbar.backward(again);
  EXPECT_SAME_BITS(seed.grad(), again.mul(mask));
}

}  // namespace
}  // namespace riesz::testing
