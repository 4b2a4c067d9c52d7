// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/loss_scale.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/optim/finite.h"

namespace riesz {

LossScale::LossScale(const LossScaleOptions& options)
    : options_(options), scale_(options.initial), hysteresis_(options.hysteresis) {
  RIESZ_CHECK(options.least > 0 && options.initial >= options.least, "LossScale: an initial scale of ",
              options.initial, " and a least one of ", options.least, "; needs initial >= least > 0");
  RIESZ_CHECK(options.factor > 1, "LossScale: a factor of ", options.factor, "; it must be above 1");
  RIESZ_CHECK(options.window > 0, "LossScale: a window of ", options.window, " steps; it must be above 0");
  RIESZ_CHECK(options.hysteresis > 0, "LossScale: a hysteresis of ", options.hysteresis,
              "; it must be above 0");
}

void LossScale::set_value(double scale) {
  RIESZ_CHECK(scale >= options_.least, "LossScale: a scale of ", scale, "; the least is ", options_.least);
  scale_ = scale;
}

State LossScale::state(const Partition& P) {
  const std::string name = "loss_scale";
  return {view_of(name, "value", P, scale_), view_of(name, "hysteresis", P, hysteresis_),
          view_of(name, "clean", P, clean_), view_of(name, "skipped", P, skipped_)};
}

bool LossScale::unscale(Store& store) {
  const at::NoGradGuard no_gradient;
  const std::vector<Share> shares = store.shares();
  if (shares.empty()) return true;
  check_takes_part("LossScale", store);
  const bool finite = all_finite(store.partition(), shares);
  if (finite) {
    for (const Share& share : shares) share.arrived().mul_(1 / scale_);
    if (store.reduced() && scale_ >= 1) store.know_finite(shares);
    rise();
  } else {
    ++skipped_;
    fall();
  }
  return finite;
}

void LossScale::fall() {
  clean_ = 0;
  if (!options_.dynamic) return;
  if (hysteresis_ > 1)
    --hysteresis_;
  else
    scale_ = std::max(scale_ / options_.factor, options_.least);
}

void LossScale::rise() {
  if (!options_.dynamic || ++clean_ % options_.window != 0) return;
  hysteresis_ = options_.hysteresis;
  scale_ *= options_.factor;
}

}  // namespace riesz
