// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/pointwise/formula.h"

namespace riesz::detail {

/// y of the first input's shape and type; the others are broadcast against it. Differentiable any number of
/// times. For backward it saves the inputs alone, and a backward is one pass over them and ȳ. It gives y
/// again (`Node::again`), so a contraction that reads y keeps no y. A device has the kernels below, or
/// LibTorch's operators.
at::Tensor recorded_pointwise(const Formula& formula, const std::vector<at::Tensor>& inputs);

extern Dispatched<at::Tensor(const Formula&, const std::vector<at::Tensor>&)> pointwise_values;
/// ȳ is given away: where nobody else holds it, a gradient may be written over it.
extern Dispatched<std::vector<at::Tensor>(const Formula&, const std::vector<at::Tensor>&, at::Tensor ybar,
                                          const std::vector<bool>&)>
    pointwise_gradients;

}  // namespace riesz::detail
