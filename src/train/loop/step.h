// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/late_number.h"
#include "riesz/nn/offload/activation_offload.h"
#include "riesz/optim/loss_scale.h"
#include "riesz/optim/optimizer.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/train/config/config.h"
#include "riesz/train/loop/gate_report.h"
#include "riesz/train/loop/learner.h"
#include "riesz/zero/stage_zeros.h"

namespace riesz {

/// The bytes of a training's state on a worker.
struct Memory {
  Holdings model;
  std::int64_t optimizer = 0;
  std::int64_t optimizer_elsewhere = 0;  ///< not in memory
  std::int64_t activations_on_disk = 0;  ///< the most so far
  std::int64_t untrained = 0;            ///< frozen parameters and buffers
};

/// A step of training: the mean loss of a batch's targets, in micro-batches; backward; the gradients' norm
/// and clipping; an update. The configuration says how state is sharded and updated, in which precision, and
/// by which schedule a placed model's stages run.
class TrainingStep {
 public:
  /// Takes over the model's parameters (`Zero`), and calls `Learner::load` unless config.resume. `model` must
  /// outlive it. Collective over the model's workers.
  TrainingStep(const Config& config, const Learner& model);
  ~TrainingStep();

  struct Result {
    LateNumber loss;  ///< of the batch, before the update
    /// Before clipping. Infinite where the step was skipped, or where gradients are not reduced (1-bit Adam).
    LateNumber gradient_norm;
    double learning_rate;
    LateNumber skipped = 0;    ///< 1 if it was: fp16, where some gradient was not finite
    LateNumbers experts = {};  ///< of a model with experts (`GateReport`)

    /// Does a device still compute it? Then a read of a number waits.
    bool on_a_device() const { return loss.there().defined(); }
  };

  /// Makes step number `step`, counted from 0. The result is the same on all workers. Collective over the
  /// model's workers. Without a target that counts, loss and gradients are 0.
  /// @throws Error naming the step if the loss is not finite. Also naming the parameter if a gradient is not
  /// finite (in fp16 the step is skipped). No value has changed then. If all workers threw at one place, also
  /// because of the model or the batch, the step may be made again; gradients that it left are dropped first.
  /// On a device nothing is read here: the next step, or `settle`, throws what is wrong with this one.
  Result operator()(std::int64_t step, const Batch& batch);

  /// Throws what is wrong with the steps so far, and is not known yet. Waits until a device has made them.
  /// Collective.
  void settle() const;

  /// This worker's part of the whole state of training. It has the model's values, trained or not, the
  /// masters, the optimizer's state and the loss's scale, but not the number of the next step. Call it
  /// between steps. A load writes into these views, and the training goes on from there:
  ///
  ///     SavedState saved(world, step.state());
  ///     …                                       // made anew, at any layout and stage
  ///     saved.load(other.state());
  ///     other(next, batch);
  State state();
  void loaded();

  /// The bytes that this worker holds.
  Memory memory() const;
  /// Where the optimizer keeps its state, in words; "" where it is in memory.
  std::string state_place() const;
  /// Where what blocks save for backward lies, in words; "" where it is in memory.
  std::string activation_place() const;

  /// This worker's actions in the last step, with their times in seconds of the host's steady clock. Empty
  /// without a pipeline.
  const std::vector<Timed>& timeline() const { return timeline_; }
  /// The pipeline that runs a placed model's stages; nullptr where layout.pp is 1.
  const Pipeline* pipeline() const { return pipeline_ ? &*pipeline_ : nullptr; }

 private:
  void update(std::int64_t step);
  void check_loss(std::int64_t step, const LateNumber& loss) const;
  LateNumber loss_and_gradients(std::int64_t step, const Batch& batch);
  /// The sum over some rows of a batch. `targets` is the number of targets of the batch.
  Vector sum_of_losses(std::int64_t step, const Batch& batch, const Interval& rows, double targets) const;

  Config config_;
  const Learner& model_;
  GateReport gates_;
  StageZeros zeros_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<LossScale> scale_;
  std::optional<ActivationOffload> activations_;
  std::optional<Pipeline> pipeline_;
  std::vector<Timed> timeline_;
  bool under_way_ = false;
  std::int64_t last_ = -1;
};

}  // namespace riesz
