// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/partition/partition.h"
#include "riesz/pipeline/partitioner/cost_tree.h"

namespace riesz {

struct MeasureOptions {
  int warm_up = 1;  ///< micro-batches that are not counted
  int repeats = 3;  ///< that are: a module's costs are the medians
};

/// The tree of the model, with the times of its modules in micro-batches on this machine, the activations
/// that they keep, and the bytes that they give. `micro_batch` computes one forward and backward in a Chain
/// of its own, as training does. A module's time passes between its beginning and its end, without the
/// modules below, forward by the clock and backward by marks in the chain. Waiting for other workers counts
/// too. Where nothing goes backward, forward alone. Nothing is computed otherwise than without. On a device
/// the times are those of its stream, by events, and nothing waits before a micro-batch is over.
///
/// A module's activations are the memory of what autograd's nodes save in its forward. Each piece of memory
/// counts once, where it is saved first, and whole, also where a view of it is saved. Weights do not count.
/// Its output is the local parts of the vectors that it returns, of all calls.
///
/// Workers agree on the largest of each module's costs, so a model that is already placed can be measured
/// where it lies. Collective over `workers`, all of which have the same model.
CostTree measured(const Module& model, const std::function<void()>& micro_batch, const Partition& workers,
                  const MeasureOptions& options = {});

}  // namespace riesz
