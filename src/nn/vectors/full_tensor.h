// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz {

/// The global tensor that x means, on every worker of its partition, in memory of its own: what `distribute`
/// was given. Exact where nothing is Partial. To look at, compare or write; without gradient. Zero-volume
/// outside the partition. Cost: of the natural map to Replicated, up to (p − 1)/p of the whole from everyone.
/// Collective over the partition.
at::Tensor full_tensor(const Vector& x);

}  // namespace riesz
