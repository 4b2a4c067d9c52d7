// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/simulation.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/untrained.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/layout.h"
#include "riesz/train/make_optimizer.h"

namespace riesz {
namespace {

Vector sum_of_losses(const Vector& logits, const Vector& targets) {
  const LayerScope layer("loss");
  return cross_entropy(logits, targets).sum;
}

/// Of all micro-batches together, known before the first goes backward.
std::int64_t count_of(const Batch& batch) {
  return batch.targets.ne(CrossEntropyOptions{}.ignore).sum().item<std::int64_t>();
}

RecomputePolicy policy_of(const Config::Layout& layout) {
  RecomputePolicy policy{.regions = recompute_regions(layout.recompute), .every = layout.recompute_every};
  if (!layout.recompute_pieces) return policy;
  for (const Axis& axis : layout_axes(layout)) policy.pieces_over.push_back(axis.name);
  return policy;
}

}  // namespace

TrainingStep::TrainingStep(const Config& config, const LanguageModel& model)
    : config_(config),
      model_(model),
      zero_(model.module.parameters(), {.stage = static_cast<int>(config.layout.zero)}),
      store_(zero_.store()),
      optimizer_(make_optimizer(config.optimizer, store_)) {
  if (config.precision == "fp16" || config.compute == "fp16") scale_.emplace();
  if (config.layout.recompute != "none") set_recompute(model.module, policy_of(config.layout));
}

TrainingStep::~TrainingStep() = default;

double TrainingStep::loss_and_gradients(std::int64_t step, const Batch& batch) {
  const std::int64_t parts = config_.train.micro_batches;
  const Split split = Split::balanced(batch.ids.size(0), static_cast<int>(parts));
  const double mean = 1.0 / static_cast<double>(std::max<std::int64_t>(count_of(batch), 1));
  double loss = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Interval rows = split[static_cast<int>(i)];
    const ContextScope scope({.training = true,
                              .seed = static_cast<std::uint64_t>(config_.train.seed),
                              .step = step,
                              .first_row = rows.begin,
                              .rows = batch.ids.size(0)});
    zero_.begin(i, parts);
    Chain chain;
    const Vector logits = model_.logits(lay_out(model_.tokens, batch.ids.narrow(0, rows.begin, rows.size())));
    const Vector sum =
        sum_of_losses(logits, lay_out(model_.targets, batch.targets.narrow(0, rows.begin, rows.size())));
    backward((scale_ ? scale_->value() * mean : mean) * sum);
    loss += mean * sum.local().item<double>();
  }
  return loss;
}

TrainingStep::Result TrainingStep::operator()(std::int64_t step, const Batch& batch) {
  const double clip = config_.optimizer.clip;
  const Pace now = pace(config_.schedule, config_.optimizer.learning_rate, config_.train.steps, step);
  const bool reduced = optimizer_->wants_reduced_gradients();
  zero_.set_reducing(reduced);
  Result result{loss_and_gradients(step, batch), 0, now.learning_rate};
  RIESZ_CHECK(std::isfinite(result.loss) || Simulation::running(), "the loss of step ", step + 1, " is ",
              std::isnan(result.loss) ? "not a number" : "infinite",
              "; lower optimizer.learning_rate, lengthen schedule.warm_up, or set optimizer.clip");
  const LayerScope gradients("gradients", Phase::update);
  result.skipped = scale_ && !scale_->unscale(*store_);
  result.gradient_norm = std::numeric_limits<double>::infinity();
  if (!result.skipped) {
    if (reduced) result.gradient_norm = clip_gradients(*store_, clip > 0 ? clip : result.gradient_norm);
    optimizer_->set_learning_rate(now.learning_rate);
    if (now.momentum) optimizer_->set_momentum(*now.momentum);
    optimizer_->step();
  }
  optimizer_->zero_gradients();
  return result;
}

State TrainingStep::state() {
  State all = optimizer_->state();
  State more = untrained_state(model_.module.parameters());
  if (scale_) {
    for (StateView& view : scale_->state(store_->partition())) more.push_back(std::move(view));
  }
  for (StateView& view : more) all.push_back(std::move(view));
  return all;
}

void TrainingStep::loaded() { optimizer_->loaded(); }

Memory TrainingStep::memory() const { return {zero_.holdings(), optimizer_->bytes()}; }

}  // namespace riesz
