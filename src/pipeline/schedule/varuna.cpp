// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/list_schedule.h"
#include "riesz/pipeline/schedule/makers.h"
#include "riesz/pipeline/schedule/options.h"

namespace riesz::schedules {
namespace {

int rank(const Action& action) {
  switch (action.pass) {
    case Pass::backward_weights:
      return 0;
    case Pass::backward_inputs:
      return 1;
    case Pass::recompute:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

Schedule varuna(const ScheduleOptions& options) {
  check_options("varuna", options, 1);
  std::vector<Action> wanted;
  for (int i = 0; i < options.micro_batches; ++i) {
    for (int chunk = 0; chunk < options.stages; ++chunk) {
      const bool last = chunk + 1 == options.stages;
      for (const Pass pass :
           {Pass::forward, Pass::recompute, Pass::backward_inputs, Pass::backward_weights}) {
        if (pass != Pass::recompute || !last) wanted.push_back({pass, chunk, i});
      }
    }
  }
  const auto always = [](const Action&, int, int) { return true; };
  return list_schedule(looped(options.stages, 1), options.micro_batches, wanted, {rank, always},
                       options.costs);
}

}  // namespace riesz::schedules
