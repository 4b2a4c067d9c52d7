// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz::detail {

/// The vector-Jacobian product ȳᵀ·∂y/∂z for each z, from what autograd recorded; zero where y does not depend
/// on z. With `again` the results are recorded too.
std::vector<at::Tensor> vector_jacobian(const at::Tensor& y, const std::vector<at::Tensor>& zs,
                                        const at::Tensor& ybar, bool again);

}  // namespace riesz::detail
