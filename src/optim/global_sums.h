// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/partition/partition.h"

namespace riesz {

/// Sums each of some fp64 numbers over the workers of P. `mine` is a flat tensor of one size on all of them.
/// The sums are added in rank order, so all workers get the same bits. Collective over P: one AllReduce of
/// its size; nothing for an empty tensor.
at::Tensor global_sums(const Partition& P, const at::Tensor& mine);

/// Σ x² of a flat tensor, in fp64. Local; it waits for a device.
double sum_of_squares(const at::Tensor& x);
/// The same as a tensor without dims, where x is.
at::Tensor sum_of_squares_there(const at::Tensor& x);

}  // namespace riesz
