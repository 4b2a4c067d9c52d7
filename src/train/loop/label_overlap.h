// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// How many targets have a label and are given it, and how many have it or are given it: (2, labels), fp64,
/// Replicated. A target is given the label of its greatest logit. Logits (…, labels) and
/// targets lie as in `cross_entropy`. Without gradient. Cost: an AllGather of the logits over the axes that
/// shard labels, and an AllReduce of the counts over those that shard targets.
Vector label_overlap(const Vector& logits, const Vector& targets);

/// From the sums of such counts, flat: intersection over union of each label; 1 where both are 0.
std::vector<double> overlaps_of(const at::Tensor& counts);

}  // namespace riesz
