// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trial.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "riesz/app/models/model.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/scalar_type.h"
#include "riesz/pipeline/partitioner/cost_tree.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

constexpr std::int64_t kVocabulary = 11;

constexpr const char* kGrid = "grid=";

std::vector<std::string> words_of(const std::string& settings) {
  std::istringstream text(settings);
  std::vector<std::string> words;
  for (std::string word; text >> word;) {
    if (!word.starts_with(kGrid)) words.push_back(word);
  }
  return words;
}

/// Such as a1.b2.c2.
std::vector<Axis> grid_of(const std::string& settings) {
  const std::size_t at = settings.find(kGrid);
  if (at == std::string::npos) return {};
  std::istringstream text(settings.substr(at + std::string_view(kGrid).size()));
  std::string word;
  text >> word;
  std::istringstream axes(word);
  std::vector<Axis> grid;
  for (std::string axis; std::getline(axes, axis, '.');) {
    const std::size_t number = axis.find_first_of("0123456789");
    grid.push_back({axis.substr(0, number), std::stoi(axis.substr(number))});
  }
  return grid;
}

/// A key bias's true gradient is zero: a smaller epsilon would blow up its rounding.
Config config_of(const Trial& trial) {
  Config config =
      with_words({}, words_of("model.layers=1 model.width=12 model.hidden=10 model.context=5 train.batch=3 "
                              "optimizer.learning_rate=0.01 optimizer.epsilon=1e-3 optimizer.clip=0.5 "
                              "schedule.kind=constant schedule.warm_up=0 checkpoint.save=false"));
  std::vector<std::string> words = words_of(trial.settings);
  if (trial.settings.find("vit") != std::string::npos)
    for (const char* word : {"data.task=images", "model.image=4", "model.patch=2"}) words.emplace_back(word);
  return with_words(config, words);
}

/// Integers below n, others at each step, the same on all workers.
at::Tensor numbers_of(const std::vector<std::int64_t>& shape, std::int64_t n, int step) {
  std::int64_t count = 1;
  for (const std::int64_t each : shape) count *= each;
  const at::Tensor i = at::arange(count, at::kLong).add(17 * step + 3);
  return at::remainder(i.mul(i).add(i), n).view(shape);
}

at::ScalarType type_of(const Trial& trial, const Config& config) {
  return trial.has("precision=") ? app::scalar_type(config.precision) : at::kDouble;
}

Batch batch_of(const Config& config, at::ScalarType type, int step) {
  const std::int64_t rows = config.train.batch, size = config.model.image;
  if (config.model.kind == "vit")
    return {numbers_of({rows, 1, size, size}, 101, step).to(at::kDouble).div(50).sub(1).to(type),
            numbers_of({rows}, kVocabulary, step)};
  const at::Tensor targets = numbers_of({rows, config.model.context}, kVocabulary, step + 1);
  targets.view({-1}).slice(0, 0, std::nullopt, 5).fill_(-1);  // these do not count
  return {numbers_of({rows, config.model.context}, kVocabulary, step), targets};
}

app::HeldModel made(const Config& config, at::ScalarType type, const Layout& layout,
                    const Partition& workers) {
  if (config.model.kind == "vit")
    return app::make_image_model(app::image_model_shape(config, kVocabulary), type, layout, workers);
  const std::shared_ptr<models::CausalModel> model =
      models::make_causal_model(layout, app::model_shape(config, kVocabulary));
  const auto logits = [&gpt = *model](const Vector& ids) { return gpt.logits(ids); };
  return {model, {model->module(), model->tokens(), model->targets(), logits, workers}};
}

app::HeldModel made(const Trial& trial, const Config& config) {
  const auto& [tensor, sequence] = std::tie(config.layout.tensor, config.layout.sequence);
  const at::ScalarType type = type_of(trial, config);
  if (const std::vector<Axis> axes = grid_of(trial.settings); !axes.empty()) {
    const Partition grid = Partition::world().grid(axes);
    return made(config, type, spaces::named(tensor, sequence, grid), grid);
  }
  const Partition job = Partition::world().grid(job_axes(config.layout));
  if (config.layout.pp == 1) return made(config, type, spaces::named(tensor, sequence, job), job);
  const Partition stage = job.at("pp", 0);
  const CostTree costs =
      cost_tree(made(config, type, spaces::named(tensor, sequence, stage), stage).module());
  return made(config, type, layout_of(config, job, plan_stages(config, costs).placement), job);
}

}  // namespace

TrainingRun trained(const Trial& trial, at::Device device, const AroundStep& around) {
  const Config config = config_of(trial);
  const app::HeldModel model = made(trial, config);
  const at::ScalarType type = type_of(trial, config);
  model.learner.module.initialise(7, type, device);
  TrainingRun run;
  run.add_initial(model.module());
  TrainingStep step(config, model.learner);
  std::vector<TrainingStep::Result> results;
  for (int i = 0; i < trial.steps; ++i) {
    const Batch batch = batch_of(config, type, i);
    const std::shared_ptr<void> holds = around ? around(i) : nullptr;
    results.push_back(step(i, batch));
  }
  step.settle();
  for (std::size_t i = 0; i < static_cast<std::size_t>(trial.compared_steps()); ++i) {
    const std::string of_step = " of step " + std::to_string(i);
    run.results["loss" + of_step] = at::tensor(double(results[i].loss), at::kDouble);
    const double skipped = results[i].skipped, norm = results[i].gradient_norm;
    run.results["skipped" + of_step] = at::tensor(skipped, at::kDouble);
    if (std::isfinite(norm)) run.results["norm" + of_step] = at::tensor(norm, at::kDouble);
  }
  if (!trial.in_half_types()) run.add_weights(model.module());
  for (auto* tensors : {&run.initial, &run.results}) {
    for (auto& [name, tensor] : *tensors) tensor = tensor.cpu();
  }
  return run;
}

}  // namespace riesz::testing
