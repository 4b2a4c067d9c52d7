// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "riesz/nn/loss/loss.h"
#include "riesz/nn/loss/predicted.h"
#include "riesz/nn/loss/predictions.h"
#include "riesz/nn/module.h"
#include "riesz/train/data/task.h"

namespace riesz {

class Pipeline;

/// A model as training sees it: its parameters, the spaces of its inputs and targets, and its logits,
/// (rows, …, vocabulary), in any placement, with the model's own loss if it has one. A field's logits
/// are the field, in the space of the targets. What it predicts says by which loss it learns: labels and
/// pixels by cross-entropy, fields by `relative_error`.
struct Learner {
  Module& module;
  Space inputs;
  Space targets;
  std::function<Predictions(const Vector& inputs)> logits;
  Partition workers = inputs.partition();  ///< of all its stages
  /// Makes the model's input from a batch's inputs, such as the patches of images. Local; each row by itself.
  /// Without it the model reads the inputs themselves.
  std::function<Rows(const Rows& inputs)> inputs_of = {};
  std::map<std::string, std::string> files = {};  ///< files beside its weights in a checkpoint, by name
  /// Gives the parameters trained weights in place of the drawn ones. `TrainingStep` calls it once `Zero`
  /// keeps the parameters, so each worker reads no more than it keeps. Without it the weights stay as drawn.
  std::function<void()> load = {};
  Predicted predicted = Predicted::labels;
};

/// The number of a batch's targets that count: of fields their rows.
std::int64_t count_targets(const Learner& model, const Batch& batch);

/// The loss of a batch; every worker gives all rows. Collective over the model's workers.
Loss loss_of(const Learner& model, const Batch& batch);

/// Training takes gradients of this: the sum of the losses of the batch's targets, and `times` the model's
/// own loss if it has one. Collective over the model's workers.
Vector training_loss(const Learner& model, const Batch& batch, double times);

// The model as it is, without dropout or gradients. With a `pipeline` of the model, the rows of a call are
// cut into its micro-batches, as those of a step, and go forward by its schedule: stages compute at once.
// Where there are fewer rows, some micro-batches have none and are left out. Without a pipeline, the rows of
// a call are cut into `parts`, one after another, so a call takes no more memory than a step of as many
// micro-batches. For one row, stages compute one after another. The result is on the CPU. On a device the
// calls wait for it, then throw what late checks found (`settle_late_checks`).

/// `Predict` by the model: the logits of each row's last target, or all of pixels or fields, whole on every
/// worker, on the CPU. Collective over the model's workers. Cost: that of the model; these logits alone are
/// gathered.
at::Tensor predict(const Learner& model, const Rows& inputs, const Pipeline* pipeline = nullptr,
                   std::int64_t parts = 1);

/// The logits of all targets of some rows, or the fields, where they lie; without a pipeline, all rows at
/// once. Nothing is gathered. Collective over the model's workers.
Vector evaluated(const Learner& model, const Rows& inputs);

/// Measures the first `rows` held-out rows, `at_once` of them in a call; overlaps are measured of pixels. The
/// same bits on all workers. Collective over the model's workers.
HeldOut measure_held_out(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once,
                         const Pipeline* pipeline = nullptr, std::int64_t parts = 1);

/// The loss of such a measurement.
inline double held_out_loss(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once,
                            const Pipeline* pipeline = nullptr, std::int64_t parts = 1) {
  return measure_held_out(model, task, rows, at_once, pipeline, parts).loss;
}

}  // namespace riesz
