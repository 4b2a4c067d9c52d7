// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/dispatched.h"
#include "riesz/nn/attention/rotary_turns.h"

namespace riesz::detail {

/// rotary() of x in (…, T, heads, d) by the cosines and sines of its T positions. On a CPU it is one pass
/// forward and one backward, which turns back and needs nothing but these. The caller gives x away. Where
/// nobody else holds it, it is turned in place, and so is ȳ in backward. Differentiable any number of times.
at::Tensor turned(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs);

/// One kernel for each type of device. A kernel that is not made of LibTorch's operators records its own
/// backward.
extern Dispatched<at::Tensor(at::Tensor x, const RotaryTurns& turns, RotaryPairs pairs)> turned_kernels;

}  // namespace riesz::detail
