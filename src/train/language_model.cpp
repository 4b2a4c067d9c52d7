// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/language_model.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "riesz/nn/loss/loss.h"
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

}  // namespace

std::int64_t count_targets(const Batch& batch) {
  return batch.targets.ne(CrossEntropyOptions{}.ignore).sum().item<std::int64_t>();
}

Vector lay_out(const Space& X, const at::Tensor& global) {
  return distribute(X.with_shape(global.sizes().vec()), global);
}

at::Tensor next_token(const LanguageModel& model, const at::Tensor& ids) {
  const Evaluating evaluating;
  const Vector logits = model.logits(lay_out(model.tokens, ids));
  return known_everywhere(model.module, select(logits, 1, ids.size(1) - 1));
}

double held_out_loss(const LanguageModel& model, const Task& task, std::int64_t sequences,
                     std::int64_t at_once) {
  const Evaluating evaluating;
  const std::int64_t end = std::min(sequences, task.held_out());
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t from = 0; from < end; from += at_once) {
    const Batch batch = task.held_out(from, std::min(end, from + at_once));
    const Loss loss =
        cross_entropy(model.logits(lay_out(model.tokens, batch.ids)), lay_out(model.targets, batch.targets));
    sum += known_everywhere(model.module, loss.sum).item<double>();
    count += count_targets(batch);
  }
  return sum / static_cast<double>(count);
}

}  // namespace riesz
