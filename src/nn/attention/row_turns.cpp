// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_turns.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "riesz/nn/vectors/plain_floats.h"

// A product is rounded before it is added, also where the processor could do both in one.
#if defined(__GNUC__) && !defined(__clang__)
#define RIESZ_ROUND_EACH __attribute__((optimize("fp-contract=off")))
#else
#define RIESZ_ROUND_EACH
#pragma STDC FP_CONTRACT OFF
#endif

namespace riesz::detail {
namespace {

/// Where the numbers of pair i lie: at i·step and `apart` after it.
struct PairsLie {
  std::int64_t step, apart;
};

RIESZ_ROUND_EACH void turn(const float* x, const float* cosine, const float* sine, const PairsLie& lie,
                           std::int64_t pairs, float* y) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int64_t first = i * lie.step, second = first + lie.apart;
    const float a = x[first], b = x[second];
    y[first] = a * cosine[i] - b * sine[i];
    y[second] = b * cosine[i] + a * sine[i];
  }
}

}  // namespace

bool is_row_turns(const at::Tensor& x) { return plain_floats(x) && x.numel() <= kFew && !recorded(x); }

at::Tensor row_turns(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs) {
  const at::Tensor all = x.contiguous();
  at::Tensor result = at::empty(all.sizes(), all.options());
  const std::int64_t T = all.size(-3), heads = all.size(-2), d = all.size(-1), half = turns.cosine.size(-1);
  const PairsLie lie = pairs == RotaryPairs::neighbours ? PairsLie{2, 1} : PairsLie{1, half};
  const float* from = all.const_data_ptr<float>();
  float* to = result.mutable_data_ptr<float>();
  for (std::int64_t row = 0, rows = d > 0 ? all.numel() / d : 0; row < rows; ++row, from += d, to += d) {
    const std::int64_t angles = row / heads % T * half;
    turn(from, turns.cosine.const_data_ptr<float>() + angles, turns.sine.const_data_ptr<float>() + angles,
         lie, half, to);
    std::copy(from + 2 * half, from + d, to + 2 * half);
  }
  return result;
}

#undef RIESZ_ROUND_EACH

}  // namespace riesz::detail
