// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model.h"

#include <functional>
#include <optional>
#include <string>

#include "riesz/models/min_gpt.h"
#include "riesz/models/vit.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/pipeline/partitioner/measured.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/layout.h"
#include "riesz/train/placement.h"

namespace riesz::app {
namespace {

at::ScalarType type_of(const std::string& name) {
  return name == "bf16" ? at::kBFloat16 : name == "fp16" ? at::kHalf : at::kFloat;
}

std::optional<at::ScalarType> compute_type(const Config& config) {
  if (config.compute == "same") return std::nullopt;
  return type_of(config.compute);
}

Partition job_of(const Config& config) { return Partition::world().grid(job_axes(config.layout)); }

ContractionOptions contraction_of(const Config& config) {
  const Config::Layout& layout = config.layout;
  return {.rounds = static_cast<int>(layout.rounds),
          .keep_x = layout.keep,
          .keep_w = layout.keep,
          .cheapest = layout.cheapest,
          .compute_type = compute_type(config)};
}

/// How a model is made, without weights, wherever it is to lie.
using Maker = std::function<HeldModel(const Layout&)>;

Maker tokens_model(const Config& config, std::int64_t vocabulary) {
  const Config::Model& sizes = config.model;
  const models::MinGptConfig shape{.layers = sizes.layers,
                                   .heads = sizes.heads,
                                   .width = sizes.width,
                                   .hidden = sizes.hidden,
                                   .vocabulary = vocabulary,
                                   .context = sizes.context,
                                   .dropout = sizes.dropout,
                                   .activation = sizes.activation,
                                   .epsilon = sizes.epsilon,
                                   .tied = sizes.tied,
                                   .contraction = contraction_of(config)};
  return [shape, workers = job_of(config)](const Layout& layout) -> HeldModel {
    const auto model = std::make_shared<models::MinGpt>(layout, shape);
    const auto logits = [&gpt = *model](const Vector& ids) { return gpt(ids); };
    return {model, {*model, model->tokens(), model->targets(), logits, workers}};
  };
}

Maker images_model(const Config& config, std::int64_t labels) {
  const Config::Model& sizes = config.model;
  const models::VitConfig shape{.layers = sizes.layers,
                                .heads = sizes.heads,
                                .width = sizes.width,
                                .hidden = sizes.hidden,
                                .image = sizes.image,
                                .patch = sizes.patch,
                                .channels = sizes.channels,
                                .labels = labels,
                                .dropout = sizes.dropout,
                                .attention_dropout = sizes.dropout,
                                .activation = sizes.activation,
                                .epsilon = sizes.epsilon,
                                .contraction = contraction_of(config)};
  const auto reads = [shape, type = type_of(config.precision)](const at::Tensor& images) {
    return models::patches_of(images.to(type), shape);
  };
  return [=, workers = job_of(config)](const Layout& layout) -> HeldModel {
    const auto model = std::make_shared<models::Vit>(layout, shape);
    const auto logits = [&vit = *model](const Vector& patches) { return vit(patches); };
    return {model, {*model, model->patches(), model->targets(), logits, workers, reads}};
  };
}

Maker maker_of(const Config& config, std::int64_t vocabulary) {
  return config.model.kind == "vit" ? images_model(config, vocabulary) : tokens_model(config, vocabulary);
}

/// The model's tree, of a stage that had all of it: without weights.
CostTree tree_of(const Config& config, const Maker& make) {
  const Config::Layout& layout = config.layout;
  return cost_tree(make(spaces::named(layout.tensor, layout.sequence, job_of(config).at("pp", 0))).module());
}

HeldModel initialised(const Config& config, const Maker& make, const ModuleStages& placement) {
  HeldModel model = make(layout_of(config, job_of(config), placement));
  model.learner.module.initialise(static_cast<std::uint64_t>(config.train.seed), type_of(config.precision));
  return model;
}

Config by_count(Config config) {
  config.pipeline.partition = "count";
  return config;
}

/// With the times of micro-batches of training, in stages by count.
CostTree measured_tree(const Config& config, const Maker& make, const Task& task) {
  const StagePlan plan = plan_stages(by_count(config), tree_of(config, make));
  const HeldModel model = initialised(config, make, plan.placement);
  const std::int64_t parts = config.train.micro_batches * pipeline_micro_batches(config);
  const Batch batch = task.batch(0, (config.train.batch + parts - 1) / parts);
  const auto micro_batch = [&] {
    const ContextScope scope({.training = true, .rows = batch.rows()});
    const Chain chain;
    backward(loss_of(model.learner, batch).mean());
  };
  return measured(model.learner.module, micro_batch, model.learner.workers);
}

}  // namespace

void check_stages(const Config& config) {
  if (config.layout.pp == 1) return;
  const Config known = measures_time(config) ? by_count(config) : config;
  plan_stages(known, tree_of(config, maker_of(config, 1)));
}

HeldModel make_model(const Config& config, const Task& task) {
  const Maker make = maker_of(config, task.vocabulary());
  if (config.layout.pp == 1) return initialised(config, make, {});
  const CostTree tree = measures_time(config) ? measured_tree(config, make, task) : tree_of(config, make);
  return initialised(config, make, plan_stages(config, tree).placement);
}

}  // namespace riesz::app
