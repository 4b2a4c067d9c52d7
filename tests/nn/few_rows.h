// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace riesz::testing {

// For tests of kernels that compute few rows in fp32.

using Shape = std::vector<std::int64_t>;

inline at::Tensor floats(const Shape& shape) { return at::randn(shape, at::dtype(at::kFloat)); }

inline at::Tensor integers(const Shape& shape) { return at::randint(-4, 5, shape, at::dtype(at::kFloat)); }

inline double largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

/// The same numbers, a part of larger memory.
inline at::Tensor in_a_room(const at::Tensor& x) {
  return at::constant_pad_nd(x, {0, 16, 0, 1, 0, 3})
      .narrow(-1, 0, x.size(-1))
      .narrow(-2, 0, x.size(-2))
      .narrow(-3, 0, x.size(-3));
}

/// Frees memory full of NaN, where a result is made next.
inline void spoil(const Shape& shape) {
  at::full(shape, std::numeric_limits<float>::quiet_NaN(), at::kFloat);
}

}  // namespace riesz::testing
