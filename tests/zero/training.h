// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/models/min_gpt.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/optimizer.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::shared_ptr<Store>)>;

/// How a small minGPT is trained, in sizes that nothing divides.
struct Course {
  models::MinGptConfig config{
      .layers = 2, .heads = 3, .width = 15, .hidden = 44, .vocabulary = 97, .context = 13, .dropout = 0};
  std::int64_t batch = 5;
  int steps = 3;
  std::int64_t micro_batches = 1;
  double scale = 1;  ///< of the loss that goes backward
  MakeOptimizer optimizer;
  RecomputePolicy recompute = {};
  std::optional<ZeroOptions> zero;  ///< nothing: each worker's whole parts, reduced one by one
  at::ScalarType type = at::kDouble;
  at::Device device = at::kCPU;
};

/// The tokens of a step and those that follow, (batch, 13), the same on all workers; every fifth is ignored.
at::Tensor ids_of(const Course& course, int step);
at::Tensor targets_of(const Course& course, int step);

/// One step's gradients of a model, in micro-batches of neighbouring sequences; the loss of all of them.
double accumulate(const Course& course, models::MinGpt& model, Zero* zero, int step);

/// Initial weights, the first step's gradients, each step's loss, and the weights after the last, on the CPU.
TrainingRun train(const Course& course, const Layout& spaces);

/// SGD, AdamW, LAMB and Adafactor, by name.
const std::vector<std::pair<std::string, MakeOptimizer>>& some_optimizers();

/// 1-bit Adam along `data_parallel`, which freezes after its first step.
MakeOptimizer one_bit_adam();

/// All workers of the job along dp.
Partition data_parallel();
/// Grids of dp and tp, tp at most 2, of all workers of the job.
std::vector<Partition> dp_tp_meshes();
/// This worker on a grid of one.
Partition one_worker();

}  // namespace riesz::testing
