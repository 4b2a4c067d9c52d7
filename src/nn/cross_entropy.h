// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/partition/vector.h"

namespace riesz {

/// A sum over the targets of the global batch, and how many they are: the mean is (1.0 / count) * sum, whatever the
/// layout; never divide by ranks.
struct Loss {
  Vector sum;  ///< a scalar, Replicated on every axis
  std::int64_t count;
};

/// Σ −log softmax(logits)[target] over the rows whose target is not `ignore`: logits (…, V), of any placement of any
/// dim, also V sharded unevenly; targets, int64, in the space of the logits without the last dim. fp32 at least.
/// Cost, with n rows on a worker and p workers on the axes that shard V: an AllMax of n and an AllReduce of 2n
/// elements, and the AllReduce of the sum; backward moves nothing. The count adds an AllReduce of one element.
/// @throws Error naming both spaces where they do not fit; the axis on which the logits are Partial, or Copied, when
/// each copy would add its own loss; the target that is outside the vocabulary.
Loss cross_entropy(const Vector& logits, const Vector& targets, std::int64_t ignore = -1);

}  // namespace riesz
