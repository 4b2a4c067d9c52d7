// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace riesz {

/// Calls a pass over flat tensors of one size, which changes them in place element by element, so that the
/// bits of an element do not depend on where it lies. LibTorch's fused kernels round the last elements of a
/// tensor, which fill no vector register, unlike the others; so those are computed among zeros in a full one.
/// Replicas that lie at other places of their workers' flat shares stay equal that way.
void fused_pass(const std::vector<at::Tensor>& operands,
                const std::function<void(const std::vector<at::Tensor>&)>& pass);

}  // namespace riesz
