// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model.h"

#include <optional>
#include <string>

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

models::MinGptConfig shape_of(const Config& config, std::int64_t vocabulary) {
  const Config::Layout& layout = config.layout;
  const Config::Model& sizes = config.model;
  return {.layers = sizes.layers,
          .heads = sizes.heads,
          .width = sizes.width,
          .hidden = sizes.hidden,
          .vocabulary = vocabulary,
          .context = sizes.context,
          .dropout = sizes.dropout,
          .activation = sizes.activation,
          .epsilon = sizes.epsilon,
          .tied = sizes.tied,
          .contraction = {.rounds = static_cast<int>(layout.rounds),
                          .keep_x = layout.keep,
                          .keep_w = layout.keep,
                          .cheapest = layout.cheapest,
                          .compute_type = compute_type(config)}};
}

/// The model's tree, of a stage that had all of it: without weights.
CostTree tree_of(const Config& config, const models::MinGptConfig& shape) {
  const Config::Layout& layout = config.layout;
  return cost_tree(
      models::MinGpt(spaces::named(layout.tensor, layout.sequence, job_of(config).at("pp", 0)), shape));
}

std::unique_ptr<models::MinGpt> initialised(const Config& config, const models::MinGptConfig& shape,
                                            const ModuleStages& placement) {
  auto model = std::make_unique<models::MinGpt>(layout_of(config, job_of(config), placement), shape);
  model->initialise(static_cast<std::uint64_t>(config.train.seed), type_of(config.precision));
  return model;
}

Config by_count(Config config) {
  config.pipeline.partition = "count";
  return config;
}

/// With the times of micro-batches of training, in stages by count.
CostTree measured_tree(const Config& config, const models::MinGptConfig& shape, const Task& task) {
  const StagePlan plan = plan_stages(by_count(config), tree_of(config, shape));
  const auto model = initialised(config, shape, plan.placement);
  const LanguageModel whole = language_model(*model, config);
  const std::int64_t parts = config.train.micro_batches * pipeline_micro_batches(config);
  const Batch batch = task.batch(0, (config.train.batch + parts - 1) / parts);
  const auto micro_batch = [&] {
    const ContextScope scope({.training = true, .rows = batch.ids.size(0)});
    const Chain chain;
    const Vector logits = whole.logits(lay_out(whole.tokens, batch.ids));
    backward(cross_entropy(logits, lay_out(whole.targets, batch.targets)).mean());
  };
  return measured(*model, micro_batch, whole.workers);
}

}  // namespace

void check_stages(const Config& config) {
  if (config.layout.pp == 1) return;
  const Config known = measures_time(config) ? by_count(config) : config;
  plan_stages(known, tree_of(config, shape_of(config, 1)));
}

std::unique_ptr<models::MinGpt> make_model(const Config& config, const Task& task) {
  const models::MinGptConfig shape = shape_of(config, task.vocabulary());
  if (config.layout.pp == 1) return initialised(config, shape, {});
  const CostTree tree = measures_time(config) ? measured_tree(config, shape, task) : tree_of(config, shape);
  return initialised(config, shape, plan_stages(config, tree).placement);
}

LanguageModel language_model(models::MinGpt& model, const Config& config) {
  return {model, model.tokens(), model.targets(), [&model](const Vector& ids) { return model(ids); },
          job_of(config)};
}

}  // namespace riesz::app
