// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/train.h"

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/train/load_config.h"
#include "riesz/train/session.h"

namespace riesz::app {

void train(const Config& config, const OnStep& also) {
  check_config(config, Runtime::size());
  const auto task = make_task(config);
  const auto& [layout, sizes, data, schedule, output] = config;
  const Partition mesh =
      Partition::world().grid({{"dp", static_cast<int>(layout.dp)}, {"tp", static_cast<int>(layout.tp)}});
  const models::MinGptConfig shape{.layers = sizes.layers,
                                   .heads = sizes.heads,
                                   .width = sizes.width,
                                   .vocabulary = task->vocabulary(),
                                   .context = sizes.context,
                                   .dropout = sizes.dropout};
  models::MinGpt model(models::spaces::one_d(mesh, shape), shape);
  model.initialise(static_cast<std::uint64_t>(schedule.seed), at::kFloat);
  run_session(config, {model, model.spaces().tokens, [&](const Vector& ids) { return model(ids); }}, *task,
              also);
}

}  // namespace riesz::app
