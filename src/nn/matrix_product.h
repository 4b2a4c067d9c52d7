// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// a·b, of (m, k) and (k, n), each in any strides. By at::mm; large products in fp32 by oneDNN where that is
/// the faster: on processors of AMD with AVX-512, for which MKL has no such kernels (docs/performance.md).
/// Which of them depends on types, sizes, strides and the processor alone, never on data. For use where no
/// gradient is recorded. Cost: 2·m·n·k operations.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);

/// c += a·b, in the same way, for c in rows one after another.
void add_matrix_product(const at::Tensor& a, const at::Tensor& b, at::Tensor& c);

}  // namespace riesz
