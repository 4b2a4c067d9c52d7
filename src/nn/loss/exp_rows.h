// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// Are these rows for the kernels below: fp32 on a CPU, of a process whose operations have one thread?
bool is_exp_rows(const at::Tensor& rows);

/// The greatest of each of the contiguous rows (n, v), v at least 1, as (n, 1); NaN where one is.
/// @pre is_exp_rows(rows)
at::Tensor greatest_of_rows(const at::Tensor& rows);

/// Sums over rows of x relative to a number g of the row, each (n, 1).
struct ExpSums {
  at::Tensor sum;      ///< Σ exp(x − g)
  at::Tensor shifted;  ///< Σ (x − g)
};

/// The sums for contiguous rows (n, v) and g (n, 1), g not less than any of its row. Rounded as if the terms
/// of 128 elements at most were added in fp32, the rest in fp64. An exp is right to 2 units in the last
/// place. One pass; nothing of x's size is made. @pre is_exp_rows(rows)
ExpSums exp_sums(const at::Tensor& rows, const at::Tensor& g);

/// exp(x − g)·a + b, each of g, a and b (n, 1), with one tensor made. @pre as `exp_sums`
at::Tensor scaled_exp(const at::Tensor& rows, const at::Tensor& g, const at::Tensor& a, const at::Tensor& b);

}  // namespace riesz::detail
