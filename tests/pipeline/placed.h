// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/models/min_gpt.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/optim/optimizer.h"
#include "riesz/optim/store.h"
#include "riesz/pipeline/partitioner/stage_plan.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/schedule.h"
#include "riesz/testing/scale.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {

inline constexpr std::uint64_t kPlacedSeed = 7;

/// How a small minGPT is trained on a pipeline, in sizes that nothing divides.
struct PlacedCourse {
  models::MinGptConfig config{
      .layers = 5, .heads = 3, .width = 15, .hidden = 44, .vocabulary = 97, .context = 13, .dropout = 0.1};
  std::int64_t batch = 7;
  int micro_batches = 4;  ///< of a run of the pipeline
  int runs = 1;           ///< of a step, whose gradients are added
  int steps = 3;
  int pp = 1, dp = 1, tp = 1;
  int chunks = 1;  ///< of each worker
  std::string schedule = "gpipe";
  bool recomputing = false;  ///< the schedule, all micro-batches but the last
  RecomputePolicy recompute = {};
  std::optional<ZeroOptions> zero = {};  ///< of each chunk by itself; nothing: whole parts
  std::vector<std::string> frozen = {};  ///< patterns of what is not trained
  at::ScalarType type = at::kDouble;
  at::Device device = at::kCPU;
  double scale = 1;                    ///< of the loss
  std::optional<StagePlan> plan = {};  ///< instead of equal stages, pp in number, of dp x tp workers
  std::function<std::unique_ptr<Optimizer>(const std::shared_ptr<Store>&)> optimizer = {};  ///< else AdamW
};

/// In a line.
std::string to_string(const PlacedCourse& course);

Schedule schedule_of(const PlacedCourse& course);

/// Its blocks over the chunks, the embeddings with the first and the output layer with the last.
Stages stages_of(const PlacedCourse& course, const Partition& mesh);
/// The same for a table of one's own, with its chunks there.
Stages stages_of(const PlacedCourse& course, const Partition& mesh, const std::vector<int>& worker_of);

/// Of micro-batch i of a step: summed over its positions, over the step's number of them.
Vector loss_of(const PlacedCourse& course, models::MinGpt& model, int step, std::int64_t i);

/// The global tensor of x, on all workers of `all`. Collective over these and x's.
at::Tensor known_to_all(const Partition& all, const Vector& x);

/// Where the state of a placed model lies: each chunk's ZeRO, if there is one, and the store of all.
class PlacedState {
 public:
  PlacedState(const PlacedCourse& course, const models::MinGpt& model);
  /// Micro-batch i of a step begins.
  void begin(int i);
  const std::shared_ptr<Store>& store() const { return store_; }

 private:
  int micro_batches_;  // of a step
  std::deque<Zero> zeros_;
  std::shared_ptr<Store> store_;
};

/// A placed model on its pipeline.
class PlacedModel {
 public:
  explicit PlacedModel(const PlacedCourse& course);
  models::MinGpt& model() { return model_; }
  PlacedState& state() { return state_; }
  /// The loss of a step, whose gradients it leaves at the parameters. Collective over the job.
  double go(int step);
  /// Each micro-batch's logits, without dropout or gradients, on all workers. As collective.
  std::vector<at::Tensor> evaluate();

 private:
  PlacedCourse course_;
  models::MinGpt model_;
  Pipeline pipeline_;
  PlacedState state_;
};

/// Initial weights, the first step's gradients, each step's loss and the weights after the last, on all
/// workers. Collective over the job.
TrainingRun train_placed(const PlacedCourse& course);
/// The same placed model without a schedule, one micro-batch after another: naive model parallelism. Its
/// weights are not tied where it has ZeRO.
TrainingRun train_naively(const PlacedCourse& course);
/// The same on this worker alone, without stages.
TrainingRun train_alone(const PlacedCourse& course);
std::vector<at::Tensor> evaluate_alone(const PlacedCourse& course);

}  // namespace riesz::testing
