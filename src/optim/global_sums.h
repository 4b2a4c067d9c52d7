// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/partition/partition.h"

namespace riesz {

/// Σ over the workers of P of each of some fp64 numbers, given as a flat tensor of one size on all. The
/// result has the same bits on all of them, added in rank order. Collective over P: one AllReduce of its
/// size; nothing for none.
at::Tensor global_sums(const Partition& P, const at::Tensor& mine);

/// Σ x² of a flat tensor, in fp64. Local.
double sum_of_squares(const at::Tensor& x);

}  // namespace riesz
