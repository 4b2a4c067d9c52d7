// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz {

/// The global tensor that x means, on every worker of its partition, in new memory: the inverse of
/// `distribute`. Exact where nothing is Partial. For looking, comparing and writing; without gradient.
/// Zero-volume outside the partition. Cost: that of the natural map to Replicated, up to (p − 1)/p of the
/// whole from each worker. Collective over the partition.
at::Tensor full_tensor(const Vector& x);

}  // namespace riesz
