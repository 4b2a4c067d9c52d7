// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// Is it for `row_norm`: few rows, in fp32 on a CPU, of which no gradient is recorded? At most kFew elements.
bool is_row_norm(const at::Tensor& x, const at::Tensor& weight);

/// y = x/√(mean(x²) + ε)·weight over the last dim, with one tensor made, where at::rms_norm carries out six
/// operations on seven. Rounded as there but for the order of the sum: each row is summed by itself, so its
/// bits depend on its elements and the processor alone. @pre is_row_norm(x, weight)
at::Tensor row_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

}  // namespace riesz::detail
