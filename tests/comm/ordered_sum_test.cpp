// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/sum/ordered_sum.h"

#include <ATen/ops/_neg_view.h>
#include <ATen/ops/all.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "riesz/comm/sum/kernels.h"
#include "riesz/testing/parts.h"

namespace riesz {
namespace {

std::vector<at::Tensor> random_terms(int count, at::ScalarType type) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::normal_distribution<float> normal;
  std::vector<at::Tensor> terms;
  for (int i = 0; i < count; ++i) {
    at::Tensor term = at::zeros({5}, at::kFloat);
    for (int j = 0; j < 5; ++j) term.mutable_data_ptr<float>()[j] = normal(random);
    terms.push_back(term.to(type));
  }
  return terms;
}

/// One element's sum by the definition: left to right up to 32 terms, halves above; in fp32.
float sum_of(const std::vector<at::Tensor>& terms, std::size_t begin, std::size_t end, int element) {
  if (end - begin > 32) {
    const std::size_t middle = begin + (end - begin) / 2;
    return sum_of(terms, begin, middle, element) + sum_of(terms, middle, end, element);
  }
  float sum = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const at::Tensor term = terms[i].to(at::kFloat);
    sum = i == begin ? term.const_data_ptr<float>()[element] : sum + term.const_data_ptr<float>()[element];
  }
  return sum;
}

at::Tensor expected(const std::vector<at::Tensor>& terms) {
  at::Tensor sum = at::zeros({5}, at::kFloat);
  for (int j = 0; j < 5; ++j) sum.mutable_data_ptr<float>()[j] = sum_of(terms, 0, terms.size(), j);
  return sum.to(terms.front().scalar_type());
}

TEST(OrderedSum, IsLeftToRightUpTo32TermsAndATreeAbove) {
  for (const int count : {1, 2, 3, 8, 31, 32, 33, 64, 65, 66, 100, 200}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const std::vector<at::Tensor> terms = random_terms(count, type);
      EXPECT_SAME_BITS(ordered_sum(terms), expected(terms)) << "\nof " << count << " terms";
    }
  }
}

TEST(OrderedSum, IsOfTheNumbersThatLazyTensorsStandFor) {
  for (const int count : {2, 33}) {
    std::vector<at::Tensor> terms = random_terms(count, at::kFloat);
    const at::Tensor expected = ordered_sum(terms);
    terms[1] = at::_neg_view(terms[1].neg());

    EXPECT_SAME_BITS(ordered_sum(terms), expected);
  }
}

TEST(OrderedSum, KeepsTheOrder) {
  const auto term = [](double value) { return at::full({1}, value, at::kDouble); };

  EXPECT_EQ(ordered_sum({term(1), term(1e100), term(-1e100)}).item<double>(), 0);
  EXPECT_EQ(ordered_sum({term(1e100), term(-1e100), term(1)}).item<double>(), 1);
}

/// A sum of `count` terms that is too large for the caches, of which each begins at another element, to
/// places that begin `places` elements behind a cache's line; one of them is the first term's, if so said.
/// Beside it nothing is written.
void expect_large_sum(at::ScalarType type, int count, const std::vector<std::int64_t>& places,
                      bool in_place) {
  SCOPED_TRACE(::testing::Message() << count << " terms of " << type << (in_place ? " in place" : ""));
  const std::int64_t n = (std::int64_t{3} << 20) / static_cast<std::int64_t>(at::elementSize(type)) + 37;
  const auto in = [&](const at::Tensor& memory, std::int64_t begin) { return memory.narrow(0, begin, n); };
  const auto pointer = [](const at::Tensor& x) { return static_cast<std::byte*>(x.data_ptr()); };
  std::vector<at::Tensor> memories, terms;
  for (int i = 0; i < count; ++i) {
    const at::Tensor numbers = at::arange(n + 64, at::kFloat).mul(0.37F + static_cast<float>(i)).sin();
    memories.push_back(numbers.to(type));
    terms.push_back(in(memories.back(), i == 0 ? places.front() : i));
  }
  at::Tensor expected = terms[0].to(accumulation_type(type));
  for (int i = 1; i < count; ++i)
    expected = expected.add(terms[static_cast<std::size_t>(i)].to(expected.scalar_type()));
  expected = expected.to(type);
  std::vector<at::Tensor> outs;
  for (const std::int64_t place : places) outs.push_back(in(at::full({n + 64}, -7, type), place));
  if (in_place) outs.front() = terms.front();
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const at::Tensor& term : terms) from.push_back(pointer(term));
  for (const at::Tensor& out : outs) to.push_back(pointer(out));
  const at::Tensor around = memories.front().clone();
  ordered_sum_into(from, to, n, type, false);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    EXPECT_SAME_BITS(outs[i], expected);
    const at::Tensor whole = at::as_strided(outs[i], {n + 64}, {1}, 0);
    const at::Tensor before = in_place && i == 0 ? around : at::full({n + 64}, -7, type);
    EXPECT_SAME_BITS(whole.narrow(0, 0, places[i]), before.narrow(0, 0, places[i]));
    EXPECT_SAME_BITS(whole.slice(0, places[i] + n), before.slice(0, places[i] + n));
  }
}

TEST(OrderedSum, IsTheSameWherePastTheCaches) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    for (const int count : {2, 3}) {
      for (const bool in_place : {false, true}) {
        expect_large_sum(type, count, {0}, in_place);
        expect_large_sum(type, count, {3, 3}, in_place);
        expect_large_sum(type, count, {5, 0, 1}, in_place);
      }
    }
  }
}

/// Every half there is, and what lies on and beside the middles between neighbours, in eights and alone.
TEST(OrderedSum, ConvertsHalvesAsLibTorchDoes) {
  const at::Tensor halves = at::arange(-32768, 32768, at::kInt).to(at::kShort).view(at::kHalf);
  const auto n = halves.numel();
  const at::Tensor wide = at::empty({n}, at::kFloat);
  const auto* from = static_cast<const kernels::Half*>(halves.const_data_ptr());
  kernels::widen(from, wide.mutable_data_ptr<float>(), n);
  EXPECT_TRUE(at::equal(wide.nan_to_num(12345), halves.to(at::kFloat).nan_to_num(12345)));

  const at::Tensor finite = wide.masked_select(wide.isfinite());
  at::Tensor all =
      at::cat({finite, finite.mul(1 + 0x1p-12), finite.mul(1 + 0x1p-11), finite.mul(1 + 0x1p-11 + 0x1p-20),
               finite.mul(1 - 0x1p-12), finite.add(0x1p-25), at::full({5}, 65520.F), at::full({3}, 1e30F)});
  for (const std::int64_t begin : {0, 3}) {
    const at::Tensor x = all.slice(0, begin).contiguous();
    const at::Tensor narrow = at::empty(x.sizes(), at::kHalf);
    kernels::narrow(x.const_data_ptr<float>(), static_cast<kernels::Half*>(narrow.mutable_data_ptr()),
                    x.numel());
    EXPECT_TRUE(at::equal(narrow.view(at::kShort), x.to(at::kHalf).view(at::kShort)));
  }
  const at::Tensor nan = at::full({11}, std::numeric_limits<float>::quiet_NaN());
  const at::Tensor narrow = at::empty({11}, at::kHalf);
  kernels::narrow(nan.const_data_ptr<float>(), static_cast<kernels::Half*>(narrow.mutable_data_ptr()), 11);
  EXPECT_TRUE(narrow.isnan().all().item<bool>());
}

TEST(OrderedSum, AddsHalfTypesInFp32) {
  // 256 + 1 is 256 in bf16, 2048 + 1 is 2048 in fp16: added there one by one, the ones would be lost
  for (const auto& [type, large] : {std::pair{at::kBFloat16, 256.}, std::pair{at::kHalf, 2048.}}) {
    const at::Tensor one = at::full({1}, 1., type);
    const std::vector<at::Tensor> terms{at::full({1}, large, type), one, one, one, one};

    const at::Tensor sum = ordered_sum(terms);

    EXPECT_EQ(sum.scalar_type(), type);
    EXPECT_EQ(sum.item<double>(), large + 4);
  }
}

TEST(OrderedSum, LeavesItsTermsAsTheyAre) {
  for (const int count : {1, 2, 5, 40}) {
    const std::vector<at::Tensor> terms = random_terms(count, at::kFloat);
    const std::vector<at::Tensor> before = random_terms(count, at::kFloat);

    const at::Tensor sum = ordered_sum(terms);

    for (std::size_t i = 0; i < terms.size(); ++i) EXPECT_SAME_BITS(terms[i], before[i]);
    EXPECT_EQ(sum.is_same(terms.front()), count == 1);
  }
}

TEST(OrderedSum, KeepsSignsOfZeroAndInfinities) {
  const at::Tensor minus_zero = at::full({1}, -0., at::kDouble);
  const at::Tensor infinity = at::full({1}, std::numeric_limits<double>::infinity(), at::kDouble);

  EXPECT_SAME_BITS(ordered_sum({minus_zero, minus_zero, minus_zero}), minus_zero);
  EXPECT_SAME_BITS(ordered_sum({minus_zero, infinity}), infinity);
}

}  // namespace
}  // namespace riesz
