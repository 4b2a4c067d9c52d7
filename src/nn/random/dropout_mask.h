// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/random/dropout_draws.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// This worker's part of a vector of X with 1/(1 − p) where an element is kept and 0 where it is dropped. The
/// triple (key, step, global index i) decides it: dropped with probability p by an integer threshold, the
/// same at every layout and on every device. It is drawn on the device of the options; nothing goes there
/// from the host.
at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options);

/// The same of any boxes of a global shape, in their local order. For a block of a vector that no space holds
/// whole, such as the attention probabilities of one worker's rows and another's columns.
at::Tensor dropout_mask(const std::vector<std::int64_t>& shape, const Boxes& boxes, std::uint64_t key,
                        std::uint64_t step, double p, const at::TensorOptions& options);

at::Tensor dropout_mask(const DropoutDraws& draws, const at::TensorOptions& options);

/// Its kernels.
extern Dispatched<at::Tensor(const DropoutDraws& draws, const at::TensorOptions& options)>
    dropout_mask_kernels;

}  // namespace riesz::detail
