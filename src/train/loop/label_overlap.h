// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// For each label the number of targets in prediction ∩ target, and in prediction ∪ target: (2, labels),
/// fp64, Replicated. The prediction is the argmax of the logits. Logits (…, labels) and targets are sharded
/// as in `cross_entropy`; a target of −1 does not count. Without gradient. Cost: an AllGather of the logits
/// over the axes that shard labels, and an AllReduce of the numbers over those that shard targets.
Vector intersection_and_union(const Vector& logits, const Vector& targets);

/// Intersection over union of each label, from the sums of such numbers, flat. A label that no target has or
/// is given has 1.
std::vector<double> iou_of(const at::Tensor& counts);

/// Logits, whose last dim are the labels, with all labels of a pixel on each worker that has it. Collective
/// over the workers of the logits.
Vector with_whole_labels(const Vector& logits);

}  // namespace riesz
