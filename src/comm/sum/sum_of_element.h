// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/comm/kernels/list.h"
#include "riesz/comm/kernels/stored.h"

namespace riesz::kernels {

/// out[i] = Σ over the terms of term[i], from left to right, in the wider type, rounded once to Out. `out`
/// may be a term.
template <typename T, typename Out>
struct SumOfElement {
  static constexpr int kMost = 32;

  const T* terms[kMost];
  int count;  ///< from 1 to kMost
  Out* out;

  RIESZ_ELEMENT void operator()(std::int64_t i) const {
    Wide<T> sum = widened(terms[0][i]);
    for (int k = 1; k < count; ++k) sum = sum + widened(terms[k][i]);
    out[i] = narrowed<Out>(sum);
  }
};

using SumKernels =
    KernelList<SumOfElement<float, float>, SumOfElement<double, double>, SumOfElement<BFloat16, BFloat16>,
               SumOfElement<BFloat16, float>, SumOfElement<Half, Half>, SumOfElement<Half, float>,
               SumOfElement<float, BFloat16>, SumOfElement<float, Half>>;

}  // namespace riesz::kernels
