// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "riesz/comm/error.h"

namespace riesz {

namespace {

/// How far a step is after the warm-up: 0 at the first, 1 at the last and after it.
double progress(std::int64_t step, std::int64_t warm_up, std::int64_t steps) {
  const double span = static_cast<double>(std::max<std::int64_t>(steps - 1 - warm_up, 1));
  return std::min(1.0, static_cast<double>(step - warm_up) / span);
}

double rise(std::int64_t step, std::int64_t warm_up, double peak) {
  return peak * static_cast<double>(step + 1) / static_cast<double>(warm_up);
}

void check(const char* name, std::int64_t step, std::int64_t warm_up, std::int64_t steps) {
  RIESZ_CHECK(step >= 0 && warm_up >= 0 && steps > warm_up, name, ": step ", step, " of ", steps, " with ",
              warm_up, " of warm-up; needs step >= 0 and more steps than warm-up");
}

}  // namespace

double warm_up_cosine(std::int64_t step, std::int64_t warm_up, std::int64_t steps, double peak,
                      double floor) {
  check("warm_up_cosine", step, warm_up, steps);
  if (step < warm_up) return rise(step, warm_up, peak);
  return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress(step, warm_up, steps)));
}

double warm_up_linear(std::int64_t step, std::int64_t warm_up, std::int64_t steps, double peak,
                      double floor) {
  check("warm_up_linear", step, warm_up, steps);
  if (step < warm_up) return rise(step, warm_up, peak);
  return peak + (floor - peak) * progress(step, warm_up, steps);
}

double warm_up_constant(std::int64_t step, std::int64_t warm_up, double peak) {
  RIESZ_CHECK(step >= 0 && warm_up >= 0, "warm_up_constant: step ", step, " with ", warm_up,
              " of warm-up; neither may be below 0");
  return step < warm_up ? rise(step, warm_up, peak) : peak;
}

}  // namespace riesz
