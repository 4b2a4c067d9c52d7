// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_cycle.h"

#include <cmath>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

void check(const OneCycle& c, std::int64_t step) {
  RIESZ_CHECK(step >= 0, "OneCycle: step ", step, "; it must be at least 0");
  RIESZ_CHECK(c.first_steps > 0 && c.second_steps > 0, "OneCycle: ", c.first_steps, " steps up and ",
              c.second_steps, " down; both must be above 0");
  RIESZ_CHECK(c.least_rate >= 0 && c.least_rate <= c.greatest_rate, "OneCycle: a learning rate from ",
              c.least_rate, " to ", c.greatest_rate, "; needs 0 <= least <= greatest");
  RIESZ_CHECK(c.least_momentum >= 0 && c.least_momentum <= c.greatest_momentum && c.greatest_momentum < 1,
              "OneCycle: a momentum from ", c.least_momentum, " to ", c.greatest_momentum,
              "; needs 0 <= least <= greatest < 1");
  RIESZ_CHECK(c.first_stairs >= 0 && c.second_stairs >= 0 && c.decay_steps >= 0 && c.rate_decay >= 0 &&
                  c.momentum_decay >= 0,
              "OneCycle: stairs and decays must be at least 0");
}

double on_stairs(double part, std::int64_t stairs) {
  if (stairs == 0) return part;
  return std::floor(part * static_cast<double>(stairs)) / static_cast<double>(stairs);
}

/// From 0 up to 1 and back to 0.
double height(const OneCycle& c, std::int64_t step) {
  if (step <= c.first_steps) {
    return on_stairs(static_cast<double>(step) / static_cast<double>(c.first_steps), c.first_stairs);
  }
  const double down = static_cast<double>(step - c.first_steps) / static_cast<double>(c.second_steps);
  return 1 - on_stairs(down, c.second_stairs);
}

/// How many decay intervals a step is behind the cycle; below 0 in it.
double behind(const OneCycle& c, std::int64_t step) {
  const std::int64_t k = step - c.first_steps - c.second_steps;
  if (k <= 0) return -1;
  return c.decay_steps == 0 ? 0 : static_cast<double>(k) / static_cast<double>(c.decay_steps);
}

}  // namespace

double OneCycle::learning_rate(std::int64_t step) const {
  check(*this, step);
  const double k = behind(*this, step);
  if (k >= 0) return least_rate / (1 + rate_decay * k);
  return least_rate + (greatest_rate - least_rate) * height(*this, step);
}

double OneCycle::momentum(std::int64_t step) const {
  check(*this, step);
  const double k = behind(*this, step);
  if (k >= 0) return greatest_momentum * (1 + momentum_decay * k);
  return greatest_momentum - (greatest_momentum - least_momentum) * height(*this, step);
}

}  // namespace riesz
