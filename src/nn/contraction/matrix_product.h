// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// A matrix: `stored` or its transpose. `stored` may have any strides.
struct Factor {
  at::Tensor stored;
  bool transposed = false;

  at::Tensor matrix() const { return transposed ? stored.t() : stored; }
};

/// a·b, of (m, k) and (k, n), by at::mm. One row goes to `row_product`. Large products in fp32 go to oneDNN
/// where that is faster: on AMD processors with AVX-512, for which MKL has no such kernels
/// (docs/internals/performance.md). Turning mkldnn off in ATen's context turns oneDNN off. The kernel, and so
/// the bits, depends on types, sizes, strides and the processor alone. So replicas agree if their operands
/// lie alike in memory. For use where no gradient is recorded. Cost: 2·m·n·k operations; with oneDNN also a
/// copy of what is not stored in rows.
at::Tensor matrix_product(const Factor& a, const Factor& b);

/// c = a·b, in the same way, for c in rows one after another.
void write_matrix_product(const Factor& a, const Factor& b, at::Tensor& c);

/// c += a·b, in the same way, for c in rows one after another.
void add_matrix_product(const Factor& a, const Factor& b, at::Tensor& c);

}  // namespace riesz::detail
