// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/learner.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "riesz/comm/layer_scope.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/vectors/shape.h"

namespace riesz {
namespace {

/// As the model is used after training: nothing drops, nothing is recorded.
struct Evaluating {
  ContextScope scope{Context{.training = false}};
  at::NoGradGuard no_grad;
};

/// The vector of X, with the extents of a tensor that all workers have.
Vector lay_out(const Space& X, const at::Tensor& global) {
  return distribute(X.with_shape(global.sizes().vec()), global);
}

Vector logits_of(const Learner& model, const at::Tensor& inputs) {
  return model.logits(lay_out(model.inputs, model.reads ? model.reads(inputs) : inputs));
}

}  // namespace

std::int64_t count_targets(const Batch& batch) {
  return batch.targets.ne(CrossEntropyOptions{}.ignore).sum().item<std::int64_t>();
}

Loss loss_of(const Learner& model, const Batch& batch) {
  const Vector logits = logits_of(model, batch.inputs);
  const LayerScope layer("loss");
  return cross_entropy(logits, lay_out(model.targets, batch.targets));
}

at::Tensor predict(const Learner& model, const at::Tensor& inputs) {
  const Evaluating evaluating;
  Vector logits = logits_of(model, inputs);
  while (logits.space().dims() > 2) logits = select(logits, 1, logits.space().shape()[1] - 1);
  return known_everywhere(model.module, logits);
}

double held_out_loss(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once) {
  const Evaluating evaluating;
  const std::int64_t end = std::min(rows, task.held_out());
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t from = 0; from < end; from += at_once) {
    const Batch batch = task.held_out(from, std::min(end, from + at_once));
    sum += known_everywhere(model.module, loss_of(model, batch).sum).item<double>();
    count += count_targets(batch);
  }
  return sum / static_cast<double>(count);
}

}  // namespace riesz
