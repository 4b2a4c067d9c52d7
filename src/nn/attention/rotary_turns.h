// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "riesz/nn/attention/rotary.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// The cosines and sines of the angles by which pairs turn, (T, 1, dims/2), made in fp64 and then of the type
/// asked for.
struct RotaryTurns {
  at::Tensor cosine;
  at::Tensor sine;
};

/// At the positions that are held, for options that say dims. The last few are kept and shared, between
/// threads too.
RotaryTurns rotary_turns(const Intervals& held, const RotaryOptions& options, const at::TensorOptions& type);

}  // namespace riesz::detail
