// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// How the weights of y_n = Σ_k w_nk·x_k lie in memory: rows of k, or rows of n.
enum class Weights { in_rows, in_columns };

/// Is it worth `row_product`: fp32 on a CPU with one thread, x and w each in one piece, w of 2¹⁰ elements or
/// more?
bool is_row_product(const at::Tensor& x, const at::Tensor& w);

/// y_n = Σ_k w_nk·x_k, a product with one row, as a model computes of one token. y has n elements in the
/// given shape, x has k and w n·k, in any dims. It reads w once, in the order of memory, at nearly the rate
/// of memory. MKL's kernels for one row take up to twice as long (bench/generate). The bits depend on sizes,
/// on how w lies and on the processor alone. For use where no gradient is recorded. Cost: 2·k·n operations,
/// k·n elements read. @pre is_row_product(x, w)
at::Tensor row_product(const at::Tensor& x, const at::Tensor& w, Weights lie, at::IntArrayRef shape);

}  // namespace riesz::detail
