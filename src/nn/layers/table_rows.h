// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/dispatched.h"

namespace riesz::detail {

/// The rows of a table (rows, width) that ids name: of (…, width) for ids of (…). The table's gradient is the
/// sum of the gradients of its rows' uses, half types' in fp32 and rounded once, in an order that no thread
/// changes. Differentiable any number of times.
at::Tensor table_rows(const at::Tensor& table, const at::Tensor& ids);

/// Its kernels. On another device nothing waits for how many rows are used; an id that is not in the table
/// takes a row of another.
extern Dispatched<at::Tensor(const at::Tensor& table, const at::Tensor& ids)> table_rows_kernels;

}  // namespace riesz::detail
