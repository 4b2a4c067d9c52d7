// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>

#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/train/task.h"

namespace riesz {

/// A model as training sees it: its parameters, where what it reads and the targets of its logits lie, and
/// its logits, (rows, …, vocabulary) in any placement.
struct Learner {
  Module& module;
  Space inputs;
  Space targets;
  std::function<Vector(const Vector& inputs)> logits;
  Partition workers = inputs.partition();  ///< of all its stages
  /// What it reads of a batch's inputs, row by row and local, such as the patches of images. Without: they.
  std::function<at::Tensor(const at::Tensor& inputs)> reads = {};
  std::map<std::string, std::string> files = {};  ///< what lies beside its weights in a checkpoint, by name
  /// Sets weights that are there already, when training keeps the parameters, so that each worker takes its
  /// part alone. Without: they are the drawn ones.
  std::function<void()> load = {};
};

/// How many of a batch's targets count.
std::int64_t count_targets(const Batch& batch);

/// The cross-entropy of a batch that all workers have whole. Collective over the model's workers.
Loss loss_of(const Learner& model, const Batch& batch);

/// `Predict`, of the model as it is: whole on every worker, without dropout or gradient. Collective over the
/// model's workers. Cost: of the model; then these logits, and no others, are gathered.
at::Tensor predict(const Learner& model, const at::Tensor& inputs);

/// The mean loss in nats over the first `rows` held-out ones, `at_once` of them in a call, without
/// dropout or gradient; the same bits on all workers. Collective over the model's workers.
double held_out_loss(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once);

}  // namespace riesz
