// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/rate_range_test.h"

#include <cmath>

#include "riesz/comm/error.h"

namespace riesz {

double RateRangeTest::learning_rate(std::int64_t step) const {
  RIESZ_CHECK(step >= 0, "RateRangeTest: step ", step, "; it must be at least 0");
  RIESZ_CHECK(least >= 0 && growth >= 0 && interval > 0, "RateRangeTest: a rate from ", least,
              " that grows by ", growth, " per ", interval,
              " steps; needs least >= 0, growth >= 0 and steps > 0");
  const double t = static_cast<double>(step) / static_cast<double>(interval);
  return least * (1 + growth * (stairs ? std::floor(t) : t));
}

}  // namespace riesz
