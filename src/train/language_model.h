// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include "riesz/nn/module.h"
#include "riesz/train/task.h"

namespace riesz {

/// What training needs of a model: its parameters, the spaces of its token ids and of the targets
/// of its logits, and logits (B, T, V) of ids (B, T), in any placement.
struct LanguageModel {
  Module& module;
  Space tokens;
  Space targets;
  std::function<Vector(const Vector& ids)> logits;
  Partition workers = tokens.partition();  ///< of all its stages
};

/// How many of a batch's targets count.
std::int64_t count_targets(const Batch& batch);

/// The vector of X, of any batch and sequence, for ids or targets (B, T) that all workers have, int64. Local.
Vector lay_out(const Space& X, const at::Tensor& global);

/// The logits (B, V) that follow each row of ids, whole on every worker, without dropout or gradient.
/// Collective over the model's workers. Cost: of the model; then these logits, and no others, are gathered.
at::Tensor next_token(const LanguageModel& model, const at::Tensor& ids);

/// The mean loss in nats over the first `sequences` held-out ones, `at_once` of them in a call, without
/// dropout or gradient; the same bits on all workers. Collective over the model's workers.
double held_out_loss(const LanguageModel& model, const Task& task, std::int64_t sequences,
                     std::int64_t at_once);

}  // namespace riesz
