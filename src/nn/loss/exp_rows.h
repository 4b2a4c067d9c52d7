// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// Sums over each row of x that softmax needs, of what this worker holds, each (n, 1) in at least fp32. They
/// are relative to the row's greatest number g, or to 0 where that is −∞.
struct RowSums {
  at::Tensor greatest;  ///< g; −∞ of no numbers
  at::Tensor sum;       ///< Σ exp(x − g)
  at::Tensor shifted;   ///< Σ (x − g)
};

/// The sums of rows (n, v), read once. On a CPU fp32, bf16 and fp16 are read as they lie, in several threads,
/// and nothing of x's size is made. At most 128 terms at a time are rounded as fp32 sums; these sums are
/// added in fp64. An exp is right to 2 units in the last place. NaN makes the sums NaN.
RowSums row_sums(const at::Tensor& rows);

/// The numbers that make a row of the gradient, each (n, 1).
struct RowFactors {
  at::Tensor g;          ///< the number that exponents are relative to
  at::Tensor of_exp;     ///< a
  at::Tensor of_each;    ///< b
  at::Tensor of_target;  ///< c
  at::Tensor target;     ///< of int64: the column of the target, −1: not here
};

/// exp(x − g)·a + b, and c more at the target, in x's type, rounded once. With `alone`, which says that
/// nobody else can reach x's memory, a kernel may write it there. @pre rows (n, v) are contiguous
at::Tensor row_gradients(const at::Tensor& rows, const RowFactors& factors, bool alone);

/// The same by LibTorch's operators, which can be differentiated.
at::Tensor row_gradients_by_operators(const at::Tensor& rows, const RowFactors& factors);

}  // namespace riesz::detail
