// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/attention/rotary_turns.h"

namespace riesz::detail {

/// Can `row_turns` compute it? x has at most kFew elements, in fp32 on a CPU, and no gradient is recorded.
bool is_row_turns(const at::Tensor& x);

/// rotary() of x in (…, T, heads, d) by these cosines and sines of its T positions. It allocates one tensor.
/// The bits equal those of the formula's operations one by one. @pre is_row_turns(x)
at::Tensor row_turns(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs);

}  // namespace riesz::detail
