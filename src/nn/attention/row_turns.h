// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/attention/rotary_turns.h"

namespace riesz::detail {

/// Is it for `row_turns`: few numbers, in fp32 on a CPU, of which no gradient is recorded? At most kFew
/// elements.
bool is_row_turns(const at::Tensor& x);

/// rotary() of x in (…, T, heads, d) by these cosines and sines of its T positions, with one tensor made.
/// The bits are those of the formula's operations one by one. @pre is_row_turns(x)
at::Tensor row_turns(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs);

}  // namespace riesz::detail
