// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Where a worker that holds some intervals of a dim finds global indices.
struct HeldIndices {
  at::Tensor local;      ///< int64, of the indices' shape: where among its own; 0 where it has it not
  at::Tensor elsewhere;  ///< bool: it has it not
};

/// Local; of an index that is held twice, the later one.
HeldIndices held_indices(const at::Tensor& indices, const Intervals& held);

}  // namespace riesz::detail
