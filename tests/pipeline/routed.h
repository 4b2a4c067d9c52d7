// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A small model with experts, trained on a pipeline at any layout, and in torch's own operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/layout/layout.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

/// How it is trained, in sizes that no number of workers divides. Its blocks lie over the stages.
struct RoutedCourse {
  bool shared = false;  ///< a Qwen2-MoE, with an expert that all tokens share; else a Mixtral
  std::int64_t experts = 3;
  std::int64_t experts_per_token = 2;
  std::int64_t layers = 2;
  int pp = 1, dp = 1, sp = 1, ep = 1, tp = 1;
  std::string ep_like = "dp";   ///< what ep is a part of outside of experts (layout.experts)
  bool sharded_stream = false;  ///< layout.tensor = "sp"
  Sequence sequence = Sequence::ring;
  std::string schedule = "gpipe";
  int micro_batches = 3;                  ///< of 5 sequences
  std::optional<int> zero = {};           ///< nothing: whole parts
  bool recompute = false;                 ///< of blocks
  std::vector<std::string> frozen = {};   ///< patterns
  std::vector<std::string> trained = {};  ///< patterns of what alone is trained, if there are any
  std::uint64_t seed = 7;
  int steps = 2;
};

/// In a line.
std::string to_string(const RoutedCourse& course);

/// How many ranks it takes.
int ranks_of(const RoutedCourse& course);

/// The initial weights, the loss and the gradients' norm of each step, all gradients of the first step, and
/// the weights after the last. By AdamW in fp64. A micro-batch's balance loss counts by the share of its
/// rows. Collective over the job.
TrainingRun train_routed(const RoutedCourse& course);

/// The same in this process without Riesz: only the initial weights are its own.
TrainingRun train_routed_plainly(const RoutedCourse& course);

}  // namespace riesz::testing
