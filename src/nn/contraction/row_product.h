// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// Is it worth `row_product`: one row, in fp32 on a CPU with one thread, and a matrix that lies in rows or in
/// columns, of 2¹⁶ elements or more?
bool is_row_product(const at::Tensor& a, const at::Tensor& b);

/// a·b of (1, k) and (k, n): what a model computes of one token. It reads b once, in the order of memory, at
/// nearly the rate at which memory is read; MKL's kernels for one row take up to twice as long
/// (bench/generate). The bits depend on sizes, on which way b lies and on the processor alone. For use where
/// no gradient is recorded. Cost: 2·k·n operations, k·n elements read. @pre is_row_product(a, b)
at::Tensor row_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace riesz::detail
