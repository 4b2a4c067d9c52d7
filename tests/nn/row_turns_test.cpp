// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_turns.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <vector>

#include "few_rows.h"
#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/attention/rotary.h"
#include "riesz/nn/attention/turned.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

/// The formula's operations one by one, in the type in which x is turned.
at::Tensor plainly(const at::Tensor& x, const detail::RotaryTurns& turns, RotaryPairs pairs, double sign) {
  const at::Tensor all = x.to(turns.cosine.scalar_type()), sine = turns.sine.mul(sign);
  const std::int64_t half = turns.cosine.size(-1);
  const bool near = pairs == RotaryPairs::neighbours;
  const at::Tensor a = near ? all.slice(-1, 0, 2 * half, 2) : all.narrow(-1, 0, half);
  const at::Tensor b = near ? all.slice(-1, 1, 2 * half, 2) : all.narrow(-1, half, half);
  const at::Tensor first = a.mul(turns.cosine).sub(b.mul(sine)),
                   second = b.mul(turns.cosine).add(a.mul(sine));
  const at::Tensor turned = near ? at::stack({first, second}, -1).flatten(-2) : at::cat({first, second}, -1);
  return at::cat({turned, all.narrow(-1, 2 * half, x.size(-1) - 2 * half)}, -1).to(x.scalar_type());
}

struct Turn {
  RotaryPairs pairs;
  detail::RotaryTurns turns;
};

/// Of T positions, for rows of this type.
std::vector<Turn> some_turns(std::int64_t T, at::ScalarType type) {
  std::vector<Turn> all;
  for (const RotaryPairs pairs : {RotaryPairs::neighbours, RotaryPairs::halves}) {
    for (const std::int64_t dims : {64, 38, 24, 2}) {
      const RotaryOptions options{.dims = dims, .offset = 700, .pairs = pairs};
      all.push_back({pairs, detail::rotary_turns({{0, T}}, options, at::dtype(accumulation_type(type)))});
    }
  }
  return all;
}

constexpr at::ScalarType kTypes[] = {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf};

TEST(RowTurns, HaveTheBitsOfTheFormulasOperationsForwardAndBack) {
  at::manual_seed(1);
  for (const at::ScalarType type : kTypes) {
    for (const auto& [pairs, turns] : some_turns(3, type)) {
      SCOPED_TRACE(concat(2 * turns.cosine.size(-1), " dims turn in ", type));
      const at::Tensor x = floats({2, 3, 5, 64}).to(type), seed = floats({2, 3, 5, 64}).to(type);
      for (const at::Tensor& lying : {x, in_a_room(x), x.transpose(0, 2).contiguous().transpose(0, 2)}) {
        spoil({2, 3, 5, 64});
        EXPECT_SAME_BITS(detail::turned(lying, turns, pairs), plainly(x, turns, pairs, 1));
        const at::Tensor leaf = lying.clone().requires_grad_();
        const at::Tensor y = detail::turned(leaf, turns, pairs);
        EXPECT_SAME_BITS(y.detach(), plainly(x, turns, pairs, 1));
        y.backward(seed);
        EXPECT_SAME_BITS(leaf.grad(), plainly(seed, turns, pairs, -1));
      }
    }
  }
}

TEST(RowTurns, InPlaceAreThoseOfAnotherTensor) {
  at::manual_seed(1);
  for (const at::ScalarType type : kTypes) {
    for (const auto& [pairs, turns] : some_turns(3, type)) {
      const at::Tensor x = floats({2, 3, 5, 64}).to(type), y = x.clone();
      detail::turn_rows(y, turns, pairs, detail::Turning::forward, y);
      EXPECT_SAME_BITS(y, plainly(x, turns, pairs, 1));
    }
  }
}

TEST(RowTurns, HaveTheSameBitsByAnyNumberOfThreads) {
  at::manual_seed(1);
  const int before = at::get_num_threads();
  const at::Tensor x = floats({3, 37, 11, 66});
  for (const auto& [pairs, turns] : some_turns(37, at::kFloat)) {
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      EXPECT_SAME_BITS(detail::turned(x, turns, pairs), plainly(x, turns, pairs, 1)) << threads << " threads";
    }
  }
  at::set_num_threads(before);
  EXPECT_EQ(
      detail::turned(x.narrow(0, 0, 0), some_turns(37, at::kFloat)[0].turns, RotaryPairs::halves).sizes(),
      at::IntArrayRef({0, 37, 11, 66}));
}

}  // namespace
}  // namespace riesz::testing
