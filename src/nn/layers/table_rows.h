// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/dispatched.h"

namespace riesz::detail {

/// y[i, :] = table[ids[i], :]: a table (rows, width) and ids (…) give (…, width). The table's gradient is the
/// sum of the gradients of its rows' uses, half types' in fp32 and rounded once, in an order that no thread
/// changes. Differentiable any number of times.
at::Tensor table_rows(const at::Tensor& table, const at::Tensor& ids);

/// One kernel for each type of device. Elsewhere than on a CPU nothing waits for how many rows are used, and
/// a wrong id takes the nearest row, which `Embedding` then replaces by NaN.
extern Dispatched<at::Tensor(const at::Tensor& table, const at::Tensor& ids)> table_rows_kernels;

}  // namespace riesz::detail
