// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/train.h"

#include <map>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/train/layout.h"
#include "riesz/train/load_config.h"
#include "riesz/train/session.h"

namespace riesz::app {

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

void train(const Config& config, const OnStep& also) {
  check_config(config, Runtime::size());
  const auto task = make_task(config);
  const auto& [layout, sizes, data, schedule, output] = config;
  const Partition mesh = Partition::world().grid(layout_axes(layout));
  const models::MinGptConfig shape{.layers = sizes.layers,
                                   .heads = sizes.heads,
                                   .width = sizes.width,
                                   .vocabulary = task->vocabulary(),
                                   .context = sizes.context,
                                   .dropout = sizes.dropout};
  models::MinGpt model(spaces_of(layout, mesh, shape), shape);
  model.initialise(static_cast<std::uint64_t>(schedule.seed), at::kFloat);
  run_session(config, {model, model.spaces().tokens, model.spaces().targets, [&](const Vector& ids) { return model(ids); }}, *task,
              also);
}

}  // namespace riesz::app
