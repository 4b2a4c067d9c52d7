// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/models/model.h"

#include <functional>

#include "riesz/app/models/device_named.h"
#include "riesz/app/models/model_from.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/app/models/published_files.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/pipeline/partitioner/measured.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"

namespace riesz::app {
namespace {

Partition job_of(const Config& config) { return Partition::world().grid(job_axes(config.layout)); }

/// Makes the model, without weights, wherever a layout has it lie.
using Maker = std::function<HeldModel(const Layout&)>;

Maker maker_of_tokens_model(const Config& config, std::int64_t vocabulary) {
  const models::CausalConfig shape = model_shape(config, vocabulary);
  return [shape, keys = config.model, workers = job_of(config)](const Layout& layout) -> HeldModel {
    const std::shared_ptr<models::CausalModel> model = models::make_causal_model(layout, shape);
    const auto logits = [&gpt = *model](const Vector& ids) { return gpt.predictions(ids); };
    HeldModel held{model, {model->module(), model->tokens(), model->targets(), logits, workers}};
    if (!keys.from.empty()) {
      held.learner.load = [keys, &gpt = *model] {
        const Pretrained from = read_pretrained(keys.from);
        keys.upcycle ? load_upcycled(from, gpt) : load_pretrained(from, gpt);
      };
    }
    return held;
  };
}

Maker maker_of_images_model(const Config& config, std::int64_t labels) {
  const models::ImageConfig shape = image_model_shape(config, labels);
  return [shape, type = scalar_type(config.precision), keys = config.model,
          workers = job_of(config)](const Layout& layout) -> HeldModel {
    HeldModel held = make_image_model(shape, type, layout, workers);
    if (keys.from.empty()) return held;
    held.learner.load = [keys, &images = held.learner.module] {
      load_pretrained(read_pretrained(keys.from), images, keys.new_head);
    };
    return held;
  };
}

/// `vocabulary`: of the task, so many tokens or labels.
Maker maker_of(const Config& config, std::int64_t vocabulary) {
  return sees_images(config.model) ? maker_of_images_model(config, vocabulary)
                                   : maker_of_tokens_model(config, vocabulary);
}

/// The model's costs as if one stage had all of it.
CostTree tree_of(const Config& config, const Maker& make) {
  const Partition stage = job_of(config).at("pp", 0);
  return cost_tree(make(layout_on(config.layout, stage)).module());
}

HeldModel initialised(const Config& config, const Maker& make, const ModuleStages& placement) {
  HeldModel model = make(layout_of(config, job_of(config), placement));
  model.learner.module.initialise(static_cast<std::uint64_t>(config.train.seed),
                                  scalar_type(config.precision), device_named(config.device));
  return model;
}

Config by_count(Config config) {
  config.pipeline.partition = "count";
  return config;
}

/// With the times that micro-batches of training take.
CostTree measured_tree(const Config& config, const Maker& make, const Task& task) {
  const StagePlan plan = plan_stages(by_count(config), tree_of(config, make));
  const HeldModel model = initialised(config, make, plan.placement);
  const std::int64_t parts = micro_batches_of(config);
  const Batch batch = task.batch(0, (config.train.batch + parts - 1) / parts);
  const auto micro_batch = [&] {
    const ContextScope scope({.training = true, .rows = batch.rows()});
    const Chain chain;
    backward(training_loss(model.learner, batch, 1));
  };
  return measured(model.learner.module, micro_batch, model.learner.workers);
}

ModuleStages stages_of(const Config& config, const Maker& make, const Task& task) {
  if (config.layout.pp == 1) return {};
  const CostTree tree = measures_time(config) ? measured_tree(config, make, task) : tree_of(config, make);
  return plan_stages(config, tree).placement;
}

/// What lies beside the weights in a checkpoint.
std::map<std::string, std::string> files_of(const Config& config, const Task& task) {
  if (!config.checkpoint.save) return {};
  if (!sees_images(config.model)) return published_files(config, model_shape(config, task.vocabulary()));
  auto files = published_files(config, image_model_shape(config, task.vocabulary()), task.label_names());
  files.merge(task.files());
  return files;
}

}  // namespace

HeldModel make_image_model(const models::ImageConfig& shape, at::ScalarType type, const Layout& layout,
                           const Partition& workers) {
  const std::shared_ptr<models::ImageModel> model = models::make_image_model(layout, shape);
  const auto logits = [&of = *model](const Vector& inputs) -> Predictions { return of.logits(inputs); };
  const auto inputs_of = [&of = *model, type](const Rows& images) { return of.inputs_of(images.to(type)); };
  HeldModel held{model, {model->module(), model->inputs(), model->targets(), logits, workers, inputs_of}};
  held.learner.predicted = models::predicted_by(shape);
  return held;
}

void check_stages(const Config& config) {
  if (config.layout.pp == 1) return;
  const Config known = measures_time(config) ? by_count(config) : config;
  plan_stages(known, tree_of(config, maker_of(config, 1)));
}

HeldModel make_model(const Config& config, const Task& task) {
  if (!sees_images(config.model)) check_tokens(config, task.vocabulary());
  const Maker make = maker_of(config, task.vocabulary());
  HeldModel model = initialised(config, make, stages_of(config, make, task));
  model.learner.files = files_of(config, task);
  return model;
}

}  // namespace riesz::app
