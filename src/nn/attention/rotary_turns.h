// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "riesz/nn/attention/rotary.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// The cosines and sines of the angles by which pairs turn, of shape (T, 1, dims/2). They are computed in
/// fp64 and rounded to the type asked for.
struct RotaryTurns {
  at::Tensor cosine;
  at::Tensor sine;
};

/// The turns at the positions that are held; `options` must have dims. The last few are kept and shared, also
/// between threads.
RotaryTurns rotary_turns(const Intervals& held, const RotaryOptions& options, const at::TensorOptions& type);

}  // namespace riesz::detail
