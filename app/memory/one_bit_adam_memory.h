// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>

#include "riesz/train/config/config.h"

namespace riesz::app {

/// What 1-bit Adam keeps in fp32 beside Adam's state and does not share out: elements that a rank has not
/// sent yet, of all `whole` values and of its part of their mean. 0 for another optimizer, and for one
/// worker.
inline double errors_to_send(const Config::Optimizer& optimizer, double whole, double team) {
  return optimizer.kind == "one_bit_adam" && team > 1 ? whole + std::ceil(whole / team) : 0;
}

/// Bytes that it keeps beside these in stage 1, also on one worker: all momenta, and whether each has a
/// variance.
inline double momenta_of_all(const Config::Optimizer& optimizer, double whole, std::int64_t stage) {
  return optimizer.kind == "one_bit_adam" && stage >= 1 ? whole * (sizeof(float) + 1) : 0;
}

}  // namespace riesz::app
