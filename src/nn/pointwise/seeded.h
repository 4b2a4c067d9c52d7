// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "riesz/nn/pointwise/dual.h"

namespace riesz::detail {

/// x, on which its own derivative is 1.
template <unsigned I, typename T>
RIESZ_ELEMENT Dual<T, 1U << I> seeded(const T& x) {
  Dual<T, 1U << I> seed(x);
  seed.by[I] = T(1.0);
  return seed;
}

template <std::size_t I, typename T>
RIESZ_ELEMENT T derivative(const T&) {
  return T(0.0);
}
template <std::size_t I, typename T, unsigned Inputs>
RIESZ_ELEMENT T derivative(const Dual<T, Inputs>& y) {
  if constexpr ((Inputs >> I & 1U) != 0)
    return y.by[I];
  else
    return T(0.0);
}

}  // namespace riesz::detail
