// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// Can `row_norm` compute it? x has at most kFew elements, in fp32 on a CPU, and no gradient is recorded.
bool is_row_norm(const at::Tensor& x, const at::Tensor& weight);

/// y = x/√(mean(x²) + ε)·weight over the last dim. It allocates one tensor, where at::rms_norm runs six
/// operations on seven. It rounds like at::rms_norm but for the order of the sum. Each row is summed by
/// itself, so its bits depend on its elements and the processor alone. @pre is_row_norm(x, weight)
at::Tensor row_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

}  // namespace riesz::detail
