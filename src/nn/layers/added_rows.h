// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz::detail {

/// May `add_rows` compute it? x is fp64, fp32, bf16 or fp16 on a CPU, not a lazy negation.
bool has_rows_to_add(const at::Tensor& x);

/// y[ids[i]] ← Σ x[i], for y of zeros, in one pass over x in torch's threads. The rows of an id are added in
/// their order, half types in fp32, and rounded once. A row of y is computed by one thread, so bits do not
/// depend on their number.
/// @pre has_rows_to_add(x). Ids are int64, and rows of y. All are contiguous, and x has y's type.
void add_rows(const at::Tensor& x, const at::Tensor& ids, const at::Tensor& y);

}  // namespace riesz::detail
