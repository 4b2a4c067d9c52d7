// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/relayout.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"

namespace riesz {

Relayout::Relayout(Space Y) : range_(std::move(Y)) {}

Vector Relayout::operator()(const Vector& x) {
  if (!map_ || map_->domain() != x.space()) {
    RIESZ_CHECK(x.space().dims() == range_.dims(), "Relayout: from\n  ", to_string(x.space()), "\nto\n  ",
                to_string(range_), "\nwhich has not as many dims");
    map_ = between(x.space(), range_.with_shape(x.space().shape()));
  }
  return (*map_)(x);
}

}  // namespace riesz
