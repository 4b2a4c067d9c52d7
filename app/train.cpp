// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/train.h"

#include "riesz/app/model.h"
#include "riesz/comm/runtime.h"
#include "riesz/train/load_config.h"
#include "riesz/train/session.h"

namespace riesz::app {

void train(const Config& config, const OnStep& also) {
  check_config(config, Runtime::size());
  const auto task = make_task(config);
  const auto model = make_model(config, *task);
  run_session(config, language_model(*model), *task, also);
}

}  // namespace riesz::app
