// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace riesz {

/// Calls a pass that changes flat tensors of one size in place, element by element, so that an element's bits
/// do not depend on its place. LibTorch's fused kernels round the last elements of a tensor, which fill no
/// vector register, unlike the others. So those are computed in a full register, among zeros. Then replicas
/// that lie at different places of their workers' flat shares stay equal.
void fused_pass(const std::vector<at::Tensor>& operands,
                const std::function<void(const std::vector<at::Tensor>&)>& pass);

}  // namespace riesz
