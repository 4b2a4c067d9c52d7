// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/loss/loss.h"

namespace riesz {

struct CrossEntropyOptions {
  std::int64_t ignore = -1;  ///< targets that are not counted
  double smoothing =
      0;  ///< ε in [0, 1]: the wanted distribution is (1 − ε)·target + ε/V (Szegedy et al., 1512.00567)
  double z_loss =
      0;  ///< c ≥ 0: adds c·(log Z)² to each counted row, Z = Σ exp(logits) (Chowdhery et al., 2204.02311)
};

/// Over the rows whose target is not `ignore`,
///
///     Σ log Z − (1 − ε)·logits[target] − (ε/V)·Σ_v logits[v] + c·(log Z)²        Z = Σ_v exp(logits[v])
///
/// which without options is Σ −log softmax(logits)[target]: logits (…, V), Sharded in any way, also V
/// unevenly or in several intervals, or Replicated; targets, int64, in the space of the logits without the
/// last dim. fp32 at least. The mean is torch's cross_entropy with label_smoothing and ignore_index. Cost,
/// with n rows on a worker, over the axes that shard V: an AllMax of n and an AllReduce of 2n elements,
/// whatever the options; over those that shard rows: an AllReduce of two elements for the count, first, and
/// of one for the sum. Backward moves nothing.
/// @throws Error naming both spaces where they do not fit; the axis or dim on which the logits are Partial or
/// Copied; the option that is out of range; on every worker alike, the target that is outside the vocabulary.
Loss cross_entropy(const Vector& logits, const Vector& targets, const CrossEntropyOptions& options = {});

}  // namespace riesz
