// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/module.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/untrained.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/loop/make_optimizer.h"

namespace riesz {
namespace {

constexpr const char* kRemedy =
    "; lower optimizer.learning_rate, lengthen schedule.warm_up, or set optimizer.clip";

RecomputePolicy policy_of(const Config::Layout& layout) {
  RecomputePolicy policy{.regions = recompute_regions(layout.recompute), .every = layout.recompute_every};
  if (!layout.recompute_pieces) return policy;
  for (const Axis& axis : layout_axes(layout)) policy.pieces_over.push_back(axis.name);
  return policy;
}

}  // namespace

TrainingStep::TrainingStep(const Config& config, const Learner& model)
    : config_(config),
      model_(model),
      zeros_(model.module, {.stage = static_cast<int>(config.layout.zero)}),
      store_(zeros_.store()),
      optimizer_(make_optimizer(config.optimizer, store_, model.workers)) {
  if (config.precision == "fp16" || config.compute == "fp16") scale_.emplace();
  if (config.layout.recompute != "none") set_recompute(model.module, policy_of(config.layout));
  if (model.load && !config.resume) model.load();
  if (config.layout.pp > 1) pipeline_.emplace(model.module, pipeline_schedule(config));
}

TrainingStep::~TrainingStep() = default;

double TrainingStep::loss_and_gradients(std::int64_t step, const Batch& batch) {
  const std::int64_t parts = micro_batches_of(config_);
  const Split split = Split::balanced(batch.rows(), static_cast<int>(parts));
  // Of all micro-batches together, known before the first goes backward.
  const double mean = 1.0 / static_cast<double>(std::max<std::int64_t>(count_targets(batch), 1));
  const double scale = scale_ ? scale_->value() : 1;
  const auto sum = [&](std::int64_t i) {
    zeros_.begin(i, parts);
    return sum_of_losses(step, batch, split[static_cast<int>(i)]);
  };
  timeline_.clear();
  double loss = 0;
  if (pipeline_) {
    const auto scaled = [&](std::int64_t i) { return (scale * mean) * sum(i); };
    for (const double each : pipeline_->train(scaled, &timeline_)) loss += each / scale;
    return loss;
  }
  for (std::int64_t i = 0; i < parts; ++i) {
    Chain chain;
    const Vector losses = sum(i);
    backward((scale * mean) * losses);
    loss += mean * host_value(losses.local(), 0.0);
  }
  return loss;
}

Vector TrainingStep::sum_of_losses(std::int64_t step, const Batch& batch, const Interval& rows) const {
  const ContextScope scope({.training = true,
                            .seed = static_cast<std::uint64_t>(config_.train.seed),
                            .step = step,
                            .first_row = rows.begin,
                            .rows = batch.rows()});
  return loss_of(model_, batch.part(rows)).sum;
}

TrainingStep::Result TrainingStep::operator()(std::int64_t step, const Batch& batch) {
  const double clip = config_.optimizer.clip;
  const Pace now = pace(config_.schedule, config_.optimizer.learning_rate, config_.train.steps, step);
  const bool reduced = optimizer_->wants_reduced_gradients();
  if (std::exchange(under_way_, true)) optimizer_->zero_gradients();  // of one that threw
  zeros_.set_reducing(reduced);
  Result result{loss_and_gradients(step, batch), 0, now.learning_rate};
  RIESZ_CHECK(std::isfinite(result.loss), "the loss of step ", step + 1, " is ",
              std::isnan(result.loss) ? "not a number" : "infinite", kRemedy);
  const LayerScope gradients("gradients", Phase::update);
  result.skipped = scale_ && !scale_->unscale(*store_);
  result.gradient_norm = std::numeric_limits<double>::infinity();
  if (!result.skipped) {
    if (reduced) result.gradient_norm = clip_gradients(*store_, clip > 0 ? clip : result.gradient_norm);
    optimizer_->set_learning_rate(now.learning_rate);
    if (now.momentum && is_read(*find_key("schedule.least_momentum"), config_))
      optimizer_->set_momentum(*now.momentum);
    update(step);
  }
  optimizer_->zero_gradients();
  under_way_ = false;
  return result;
}

/// An optimizer's error speaks to who writes programs.
void TrainingStep::update(std::int64_t step) {
  try {
    optimizer_->step();
  } catch (const NotFiniteGradient& error) {
    throw_error(
        concat("the gradient of ", error.parameter(), " in step ", step + 1,
               " has an element that is NaN or infinite, so training stops, and no weight has changed "
               "in this step",
               kRemedy));
  }
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

Memory TrainingStep::memory() const { return {zeros_.holdings(), optimizer_->bytes()}; }

}  // namespace riesz
