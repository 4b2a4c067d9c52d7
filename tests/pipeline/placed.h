// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/models/min_gpt.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/testing/scale.h"

namespace riesz::testing {

/// How a small minGPT is trained on a pipeline, in sizes that nothing divides.
struct PlacedCourse {
  models::MinGptConfig config{
      .layers = 5, .heads = 3, .width = 15, .hidden = 44, .vocabulary = 97, .context = 13, .dropout = 0.1};
  std::int64_t batch = 7;
  int micro_batches = 4;
  int steps = 3;
  int pp = 1, dp = 1, tp = 1;
  int chunks = 1;  ///< of each worker
  std::string schedule = "gpipe";
  std::optional<int> zero = {};  ///< the stage of ZeRO, of each chunk by itself; nothing: whole parts
};

/// Its blocks over the chunks, the embeddings with the first and the output layer with the last.
Stages stages_of(const PlacedCourse& course, const Partition& mesh);

/// The global tensor of x, on all workers of `all`. Collective over these and x's.
at::Tensor known_to_all(const Partition& all, const Vector& x);

/// Initial weights, the first step's gradients, each step's losses and the weights after the last, on all
/// workers. Collective over the job.
TrainingRun train_placed(const PlacedCourse& course);
/// The same on this worker alone, without stages, one micro-batch after another.
TrainingRun train_alone(const PlacedCourse& course);

}  // namespace riesz::testing
