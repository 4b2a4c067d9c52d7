// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model.h"

#include <map>
#include <string>

#include "riesz/train/layout.h"

namespace riesz::app {
namespace {

models::MinGptSpaces spaces_of(const Config::Layout& layout, const Partition& mesh,
                               const models::MinGptConfig& shape) {
  using models::spaces::Sequence;
  static const std::map<std::string, Sequence> sequences{
      {"none", Sequence::whole}, {"ring", Sequence::ring}, {"ulysses", Sequence::ulysses}};
  static const std::map<std::string, decltype(&models::spaces::one_d)> tensors{
      {"1d", models::spaces::one_d},
      {"sp", models::spaces::sequence_parallel},
      {"2d", models::spaces::two_d},
      {"2.5d", models::spaces::two_and_half_d},
      {"3d", models::spaces::three_d}};
  return tensors.at(layout.tensor)(mesh, shape, sequences.at(layout.sequence));
}

}  // namespace

std::unique_ptr<models::MinGpt> make_model(const Config& config, const Task& task) {
  const auto& [layout, sizes, data, schedule, output] = config;
  const Partition mesh = Partition::world().grid(layout_axes(layout));
  const models::MinGptConfig shape{.layers = sizes.layers,
                                   .heads = sizes.heads,
                                   .width = sizes.width,
                                   .vocabulary = task.vocabulary(),
                                   .context = sizes.context,
                                   .dropout = sizes.dropout};
  auto model = std::make_unique<models::MinGpt>(spaces_of(layout, mesh, shape), shape);
  model->initialise(static_cast<std::uint64_t>(schedule.seed), at::kFloat);
  return model;
}

LanguageModel language_model(models::MinGpt& model) {
  return {model, model.spaces().tokens, model.spaces().targets,
          [&model](const Vector& ids) { return model(ids); }};
}

}  // namespace riesz::app
