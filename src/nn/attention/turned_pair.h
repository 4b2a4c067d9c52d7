// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/comm/kernels/list.h"
#include "riesz/comm/kernels/stored.h"

namespace riesz::detail {

/// A pair (a, b) turned by an angle. Compilers must round each product before it is added, also where the
/// processor could do both in one: then all devices give the same bits.
template <typename Number>
RIESZ_ELEMENT void turn_pair(Number& a, Number& b, Number cosine, Number sine) {
#if defined(__clang__)
#pragma clang fp contract(off)
#endif
  const Number first = a, second = b;
  a = first * cosine - second * sine;
  b = second * cosine + first * sine;
}

/// Pair k of a row where k is below `pairs`; further k are numbers that do not turn. Element i is of row
/// i div (width − pairs). `row_turns.h` says what rows are. y may be x.
template <typename T, bool neighbours>
struct TurnedPairs {
  const T* x;
  const kernels::Wide<T>*cosine, *sine;
  kernels::Wide<T> sign;  ///< of the angle
  std::int64_t positions, heads, width, pairs;
  T* y;

  RIESZ_ELEMENT void operator()(std::int64_t i) const {
    using Wide = kernels::Wide<T>;
    const std::int64_t of_row = width - pairs, row = i / of_row, k = i % of_row;
    const T* const from = x + row * width;
    T* const to = y + row * width;
    if (k >= pairs) {
      to[k + pairs] = from[k + pairs];
      return;
    }
    const std::int64_t angle = row / heads % positions * pairs + k;
    const std::int64_t first = neighbours ? 2 * k : k, second = neighbours ? 2 * k + 1 : k + pairs;
    Wide a = kernels::widened(from[first]), b = kernels::widened(from[second]);
    turn_pair<Wide>(a, b, cosine[angle], sign * sine[angle]);
    to[first] = kernels::narrowed<T>(a);
    to[second] = kernels::narrowed<T>(b);
  }
};

template <typename T>
using TurnKernelsOf = kernels::KernelList<TurnedPairs<T, true>, TurnedPairs<T, false>>;

}  // namespace riesz::detail
