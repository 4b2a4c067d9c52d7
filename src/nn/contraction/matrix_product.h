// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// A matrix: what is stored, or its transpose; `stored` may lie in any strides.
struct Factor {
  at::Tensor stored;
  bool transposed = false;

  at::Tensor matrix() const { return transposed ? stored.t() : stored; }
};

/// a·b, of (m, k) and (k, n). By at::mm. Large products in fp32 are by oneDNN where that is faster: on
/// processors of AMD with AVX-512, for which MKL has no such kernels (docs/internals/performance.md). Turning
/// mkldnn off in ATen's context turns that off. One row is by `row_product`. Which kernel it is, and so the
/// bits, depends on types, sizes, strides and the processor alone: replicas agree if their operands lie alike
/// in memory. For use where no gradient is recorded. Cost: 2·m·n·k operations; there a copy of what is not
/// stored in rows.
at::Tensor matrix_product(const Factor& a, const Factor& b);

/// c += a·b, in the same way, for c in rows one after another.
void add_matrix_product(const Factor& a, const Factor& b, at::Tensor& c);

}  // namespace riesz::detail
