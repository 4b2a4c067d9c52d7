// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/models/min_gpt.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

/// A small training problem: a model, and a batch of B sequences of T tokens a step, the same on every
/// worker.
struct Problem {
  models::MinGptConfig config;
  std::int64_t batch;
  std::int64_t sequence;
};

inline constexpr std::uint64_t kSeed = 7;
inline constexpr double kLearningRate = 1e-2;
inline constexpr double kEpsilon =
    1e-6;  // a key bias's true gradient is zero: Adam would blow up its rounding
inline constexpr double kWeightDecay = 0.1;

/// Ids or targets of (B, T) of a step, made by Philox; every fifth target is −1, ignored.
at::Tensor ids_of(const Problem& problem, int step);
at::Tensor targets_of(const Problem& problem, int step);

/// Trains in fp64: initial weights, the first step's logits and gradients, each step's loss and the weights
/// after the last.
TrainingRun train(const Problem& problem, const models::MinGptSpaces& spaces, int steps);
/// The same on a mesh of "dp" and "tp".
TrainingRun train(const Problem& problem, const Partition& mesh, int steps);

/// The same in plain LibTorch in this process, from the initial weights of a run of one worker: under the
/// same names and in the same shapes. Only those weights and the masks of dropout are Riesz's.
TrainingRun train_plainly(const Problem& problem, const TrainingRun& one_worker, int steps);

}  // namespace riesz::testing
