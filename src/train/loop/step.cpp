// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/trace/range.h"
#include "riesz/io/disk/activations_on_disk.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/nn/freeze.h"
#include "riesz/nn/module.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/host_place.h"
#include "riesz/optim/untrained.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/parameter_groups.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/config/schema.h"
#include "riesz/train/loop/make_optimizer.h"
#include "riesz/train/report/disk_report.h"

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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A norm, but infinite where the step was skipped.
LateNumber infinite_where(const LateNumber& skipped, const LateNumber& norm) {
  if (!skipped.there().defined()) return norm;
  return LateNumber(at::where(skipped.there().ne(0), kInfinity, norm.there()));
}

/// An optimizer's error speaks to who writes programs. `step`: the one under way; a late error is of the one
/// before.
template <typename Call>
void in_words_of_training(std::int64_t step, const Call& call) {
  try {
    call();
  } catch (const NotFiniteGradient& error) {
    throw_error(
        concat("the gradient of ", error.parameter(), " in step ", error.late() ? step : step + 1,
               " has an element that is NaN or infinite, so training stops, and no weight has changed "
               "in this step",
               kRemedy));
  }
}

/// The store, told where its optimizer keeps its state.
std::shared_ptr<Store> with_state_place(std::shared_ptr<Store> store, const Config& config) {
  const Config::Offload& offload = config.offload;
  const LiesThere what = offload.masters == "device" ? LiesThere::state : LiesThere::state_and_masters;
  if (offload.state == "disk")
    store->keep_state_in(
        disk_place(offload_paths(config), {.depth = static_cast<std::size_t>(offload.depth)}), what);
  else if (offload.state == "host")
    store->keep_state_in(host_place(), what);
  return store;
}

/// The model, with the parameters frozen that train.frozen means. Says which patterns mean none.
const Learner& with_frozen(const Config& config, const Learner& model) {
  std::vector<std::string> patterns;
  std::istringstream words(config.train.frozen);
  for (std::string word; words >> word;) patterns.push_back(word);
  freeze(model.module, patterns, value_and_origin(config, "train.frozen"));
  const std::vector<Parameter> all = model.module.parameters();
  RIESZ_CHECK(patterns.empty() ||
                  std::any_of(all.begin(), all.end(), [](const Parameter& each) { return each.trained(); }),
              value_and_origin(config, "train.frozen"),
              " freezes the whole model, so there is nothing to train; leave some modules out");
  const std::string groups = value_and_origin(config, "optimizer.groups");
  check_groups(parameter_groups(config.optimizer.groups, groups), all, groups);
  return model;
}

}  // namespace

TrainingStep::TrainingStep(const Config& config, const Learner& model)
    : config_(config),
      model_(with_frozen(config, model)),
      gates_(model.module, model.workers),
      zeros_(model.module, {.stage = static_cast<int>(config.layout.zero),
                            .axes = token_axes(config.layout, model.workers)}),
      store_(with_state_place(zeros_.store(), config)),
      optimizer_(make_optimizer(config.optimizer, store_,
                                model.workers.along(token_axes(config.layout, model.workers)))) {
  if (config.precision == "fp16" || config.compute == "fp16") scale_.emplace();
  if (config.layout.recompute != "none") set_recompute(model.module, policy_of(config.layout));
  const auto& offload = config.offload;
  if (offload.activations == "disk")
    activations_.emplace(model.module, activations_on_disk(offload_paths(config)),
                         static_cast<std::size_t>(offload.depth));
  if (model.load && !config.resume) model.load();
  if (config.layout.pp > 1) pipeline_.emplace(model.module, pipeline_schedule(config));
}

TrainingStep::~TrainingStep() = default;

LateNumber TrainingStep::loss_and_gradients(std::int64_t step, const Batch& batch) {
  const std::int64_t parts = micro_batches_of(config_);
  const Split split = Split::balanced(batch.rows(), static_cast<int>(parts));
  // Of all micro-batches together, known before the first goes backward.
  const auto targets = static_cast<double>(std::max<std::int64_t>(count_targets(model_, batch), 1));
  const double mean = 1.0 / targets;
  const auto scaled = [&](const Vector& sum) { return scale_ ? scale_->scaled(sum, mean) : mean * sum; };
  const auto sum = [&](std::int64_t i) {
    const Range range(RangeKind::phase, "forward");
    return sum_of_losses(step, batch, split[static_cast<int>(i)], targets);
  };
  timeline_.clear();
  double loss = 0;
  if (pipeline_) {
    const LateNumbers losses = pipeline_->train([&](std::int64_t i) { return scaled(sum(i)); }, &timeline_);
    if (losses.there().defined()) {
      const at::Tensor all = losses.there().sum();
      return LateNumber(scale_ ? scale_->unscaled(all) : all);
    }
    const double scale = scale_ ? scale_->value() : 1;
    for (const double each : losses) loss += each / scale;
    return loss;
  }
  at::Tensor there;
  for (std::int64_t i = 0; i < parts; ++i) {
    zeros_.begin(i, parts);
    Chain chain;
    const Vector losses = sum(i);
    backward(scaled(losses));
    const at::Tensor local = losses.local().detach();
    if (local.is_cpu())
      loss += mean * host_value(local, 0.0);
    else
      there =
          local.to(at::kDouble).mul(mean).add(there.defined() ? there : at::zeros_like(local, at::kDouble));
  }
  return there.defined() ? LateNumber(there) : LateNumber(loss);
}

Vector TrainingStep::sum_of_losses(std::int64_t step, const Batch& batch, const Interval& rows,
                                   double targets) const {
  const ContextScope scope({.training = true,
                            .seed = static_cast<std::uint64_t>(config_.train.seed),
                            .step = step,
                            .first_row = rows.begin,
                            .rows = batch.rows()});
  std::optional<OffloadScope> offload;
  if (activations_) offload.emplace(*activations_);
  // The model's own loss is a mean over its rows: that of the batch is the mean over all rows.
  const double share = static_cast<double>(rows.size()) / static_cast<double>(batch.rows());
  return training_loss(model_, batch.part(rows), targets * share);
}

TrainingStep::Result TrainingStep::operator()(std::int64_t step, const Batch& batch) {
  const double clip = config_.optimizer.clip;
  const Pace now = pace(config_.schedule, config_.optimizer.learning_rate, config_.train.steps, step);
  const bool reduced = optimizer_->wants_reduced_gradients();
  if (std::exchange(under_way_, true)) optimizer_->zero_gradients();  // of one that threw
  zeros_.set_reducing(reduced);
  Result result{loss_and_gradients(step, batch), 0, now.learning_rate};
  check_loss(step, result.loss);
  result.experts = gates_.of_step(step);
  const Range range(RangeKind::phase, "optimizer");
  const LayerScope gradients("gradients", Phase::update);
  const bool goes_on = !scale_ || scale_->unscale(*store_);
  if (scale_) result.skipped = scale_->last_skipped();
  result.gradient_norm = kInfinity;
  if (goes_on) {
    if (reduced)
      result.gradient_norm =
          infinite_where(result.skipped, clip_gradients(*store_, clip > 0 ? clip : kInfinity));
    optimizer_->set_learning_rate(now.learning_rate);
    if (now.momentum && is_read(*find_key("schedule.least_momentum"), config_))
      optimizer_->set_momentum(*now.momentum);
    update(step);
  }
  optimizer_->zero_gradients();
  under_way_ = false;
  return result;
}

void TrainingStep::check_loss(std::int64_t step, const LateNumber& loss) const {
  const auto check = [step](double value) {
    RIESZ_CHECK(std::isfinite(value), "the loss of step ", step + 1, " is ",
                std::isnan(value) ? "not a number" : "infinite", kRemedy);
  };
  if (!loss.there().defined()) return check(loss);
  check_later(LateValue(loss.there()), [check](const at::Tensor& value) { check(host_value(value, 0.0)); });
  store_->step_only_if(loss.there().isfinite());
}

void TrainingStep::update(std::int64_t step) {
  last_ = step;
  in_words_of_training(step, [&] { optimizer_->step(); });
}

void TrainingStep::settle() const {
  in_words_of_training(last_ + 1, [] { settle_late_checks(); });
  optimizer_->steps();  // waits for the update
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

std::string TrainingStep::state_place() const {
  const std::shared_ptr<StatePlace>& place = store_->state_place();
  return place ? place->describe() : "";
}

std::string TrainingStep::activation_place() const {
  return activations_ ? activations_->place().describe() : "";
}

Memory TrainingStep::memory() const {
  std::int64_t untrained = 0;
  for (const Parameter& parameter : model_.module.parameters()) {
    if (!parameter.trained()) untrained += static_cast<std::int64_t>(parameter.value().local().nbytes());
  }
  return {zeros_.holdings(), optimizer_->bytes(), optimizer_->bytes_elsewhere(),
          activations_ ? activations_->place().bytes() : 0, untrained};
}

}  // namespace riesz
