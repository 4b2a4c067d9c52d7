// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/dispatched.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Local places of global indices, on a worker that holds some intervals of a dim.
struct HeldIndices {
  at::Tensor local;      ///< int64, of the indices' shape: the local index; 0 where it is not held
  at::Tensor elsewhere;  ///< bool: it is not held
};

/// Finds them. For an index that is held twice it gives the later place. Local.
HeldIndices held_indices(const at::Tensor& indices, const Intervals& held);

/// Its kernels.
extern Dispatched<HeldIndices(const at::Tensor& indices, const Intervals& held)> held_indices_kernels;

}  // namespace riesz::detail
