// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/train.h"

#include "riesz/app/memory/check_memory.h"
#include "riesz/app/models/device_named.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/model_from.h"
#include "riesz/comm/device.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/status_board.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/loop/session.h"

namespace riesz::app {

void train(const Config& given, const OnStep& also) {
  device_named(given.device);  // refuses before anything is sent
  const Config config = with_model_from(given);
  check_config(config, Runtime::size());
  const Partition mesh = Partition::world().grid(job_axes(config.layout));
  if (config.device == "cpu") check_memory(config, mesh, static_cast<int>(StatusBoard::read().size()));
  check_stages(config);
  // Also a barrier: nobody takes any of the memory before all have seen how much there is.
  check_alike(mesh, "the job", 0);
  const auto task = make_task(config);
  const HeldModel model = make_model(config, *task);
  allow_tf32(config.tf32);  // after the model has chosen its device, which forbids it
  run_session(config, model.learner, *task, also);
}

}  // namespace riesz::app
