// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "riesz/comm/error.h"

namespace riesz {

double warm_up_cosine(std::int64_t step, std::int64_t warm_up, std::int64_t steps, double peak, double floor) {
  RIESZ_CHECK(step >= 0 && warm_up >= 0 && steps > warm_up, "warm_up_cosine: step ", step, " of ", steps, " with ",
              warm_up, " of warm-up; needs step >= 0 and more steps than warm-up");
  if (step < warm_up) return peak * static_cast<double>(step + 1) / static_cast<double>(warm_up);
  const double span = static_cast<double>(std::max<std::int64_t>(steps - 1 - warm_up, 1));
  const double part = std::min(1.0, static_cast<double>(step - warm_up) / span);
  return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * part));
}

}  // namespace riesz
