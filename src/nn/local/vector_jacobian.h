// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace riesz::detail {

/// ȳᵀ·∂y/∂z for each z, by what autograd recorded from the zs to y; zero where y does not depend on one.
/// `again`: the results are recorded in turn.
std::vector<at::Tensor> vector_jacobian(const at::Tensor& y, const std::vector<at::Tensor>& zs,
                                        const at::Tensor& ybar, bool again);

}  // namespace riesz::detail
