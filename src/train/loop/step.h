// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "riesz/optim/loss_scale.h"
#include "riesz/optim/optimizer.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/train/config/config.h"
#include "riesz/train/loop/learner.h"
#include "riesz/zero/stage_zeros.h"

namespace riesz {

/// What a worker holds of a training's state, in bytes.
struct Memory {
  Holdings model;
  std::int64_t optimizer = 0;
};

/// Steps of training: the mean loss of a batch's targets, in micro-batches; backward; the gradients' norm and
/// clipping; an update. The configuration says where state lives, how it is updated, in which precision, and
/// how the stages of a placed model take turns.
class TrainingStep {
 public:
  /// Takes over the model's parameters (`Zero`), and calls `Learner::load` unless config.resume. `model` must
  /// outlive it. Collective over the model's workers.
  TrainingStep(const Config& config, const Learner& model);
  ~TrainingStep();

  struct Result {
    double loss;  ///< of the batch, before the update
    /// Before clipping. Infinite where the step was skipped, or where gradients are not reduced (1-bit Adam).
    double gradient_norm;
    double learning_rate;
    bool skipped = false;  ///< fp16: some gradient was not finite
  };

  /// Step number `step`, from 0. The same result on all workers. Collective over the model's workers. A batch
  /// without a target that counts has a loss and gradients of 0.
  /// @throws Error naming the step if the loss is not finite, and the parameter if a gradient is not (in
  /// fp16 the step is skipped); no value has changed then. Where all workers threw at one place, also what
  /// the model or the batch did, the step may be made again: what it left of gradients is dropped first.
  Result operator()(std::int64_t step, const Batch& batch);

  /// All that training goes on from, as this worker has it: the model's values, trained or not, masters, what
  /// the optimizer keeps, and the loss's scale; not the number of the next step, which the caller gives.
  /// Between steps. A load writes into these views, and the training goes on from there:
  ///
  ///     SavedState saved(world, step.state());
  ///     …                                       // made anew, at any layout and stage
  ///     saved.load(other.state());
  ///     other(next, batch);
  State state();
  void loaded();

  /// What this worker holds.
  Memory memory() const;

  /// When this worker did what in the last step, in seconds of its host's steady clock. Micro-batches are
  /// numbered over the whole step. Empty without a pipeline.
  const std::vector<Timed>& timeline() const { return timeline_; }
  /// By which the stages of a placed model take turns; nullptr where layout.pp is 1.
  const Pipeline* pipeline() const { return pipeline_ ? &*pipeline_ : nullptr; }

 private:
  void update(std::int64_t step);
  double loss_and_gradients(std::int64_t step, const Batch& batch);
  Vector sum_of_losses(std::int64_t step, const Batch& batch, const Interval& rows) const;

  Config config_;
  const Learner& model_;
  StageZeros zeros_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LossScale> scale_;
  std::optional<Pipeline> pipeline_;
  std::vector<Timed> timeline_;
  bool under_way_ = false;
};

}  // namespace riesz
