// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/verify.h"

#include "riesz/comm/error.h"
#include "riesz/pipeline/schedule/each_action.h"
#include "riesz/pipeline/schedule/run_through.h"

namespace riesz {

UnderWay verify(const Schedule& schedule, const Boundaries& boundaries) {
  RIESZ_CHECK(boundaries.capacity > 0, "verify: a capacity of ", boundaries.capacity,
              " messages; at least one must have room between two workers");
  check_each_action(schedule);
  run_through(schedule, boundaries);
  return under_way(schedule);
}

}  // namespace riesz
