// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/nn/attention/rotary_turns.h"

namespace riesz::detail {

/// Which way pairs turn.
enum class Turning { forward, back };

/// May `turn_rows` compute it? x is fp64, fp32, bf16 or fp16 on a CPU, or on a device whose library has the
/// kernels, and not a lazy negation.
bool has_rows_to_turn(const at::Tensor& x);

/// y ← x of (…, T, heads, d) with its pairs turned, in one pass, in torch's threads. Half types are turned in
/// fp32. The bits equal those of the formula's operations one by one. y may be x.
/// @pre has_rows_to_turn(x). x and y are contiguous and of one type. The turns are of its T positions, in the
/// type in which x is turned.
void turn_rows(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
               const at::Tensor& y);

}  // namespace riesz::detail
