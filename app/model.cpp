// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model.h"

#include <optional>
#include <string>

#include "riesz/train/layout.h"

namespace riesz::app {
namespace {

at::ScalarType type_of(const std::string& name) {
  return name == "bf16" ? at::kBFloat16 : name == "fp16" ? at::kHalf : at::kFloat;
}

std::optional<at::ScalarType> compute_type(const Config& config) {
  if (config.compute == "same") return std::nullopt;
  return type_of(config.compute);
}

}  // namespace

std::unique_ptr<models::MinGpt> make_model(const Config& config, const Task& task) {
  const Config::Layout& layout = config.layout;
  const Config::Model& sizes = config.model;
  const Partition mesh = Partition::world().grid(layout_axes(layout));
  const models::MinGptConfig shape{.layers = sizes.layers,
                                   .heads = sizes.heads,
                                   .width = sizes.width,
                                   .hidden = sizes.hidden,
                                   .vocabulary = task.vocabulary(),
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
  auto model = std::make_unique<models::MinGpt>(spaces::named(layout.tensor, layout.sequence, mesh), shape);
  model->initialise(static_cast<std::uint64_t>(config.train.seed), type_of(config.precision));
  return model;
}

LanguageModel language_model(models::MinGpt& model) {
  return {model, model.tokens(), model.targets(), [&model](const Vector& ids) { return model(ids); }};
}

}  // namespace riesz::app
