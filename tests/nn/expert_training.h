// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Experts in two blocks, trained at any layout, and in one process in torch's own operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/experts/top_k_gate.h"
#include "riesz/partition/partition.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

/// How it is trained.
struct ExpertCase {
  std::int64_t experts = 3;
  std::int64_t inner = 7;
  bool gated = true;
  bool like_gpt2 = false;  ///< weights of (in, out), and biases
  bool beside = false;     ///< a shared expert, while tokens are on their way
  GateOptions gate = {};
  std::optional<int> zero = {};  ///< the stage
  bool recompute = false;
  std::int64_t micro_batches = 1;
  bool ties = false;  ///< are all logits alike at first?
  bool lamb = false;  ///< by LAMB, else by AdamW
  int steps = 5;
};

/// Trains on a mesh, whose axes say how. Collective over the mesh.
///
///     axis   outside of experts       in experts
///     dp     shards the batch
///     ep     shards the batch         holds experts
///     xp     has the same tokens      holds experts
///     sp     shards the sequence, as a ring does
///     tp     has the same tokens      shards their inner width
///     st     shards the sequence      shards their inner width, as in layout.tensor = "sp"
TrainingRun train_expert_blocks(const Partition& mesh, const ExpertCase& of);

/// The same training without Riesz, from the initial weights of a run.
TrainingRun train_expert_blocks_plainly(const ExpertCase& of, const TrainingRun& like);

/// All workers on every grid of four axes of these names.
std::vector<Partition> grids_of_four(const std::vector<std::string>& names);

}  // namespace riesz::testing
