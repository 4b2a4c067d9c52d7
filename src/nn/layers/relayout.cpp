// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/relayout.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"

namespace riesz {

Relayout::Relayout(Space X, Space Y) : domain_(std::move(X)), range_(std::move(Y)) {
  RIESZ_CHECK(domain_.dims() == range_.dims(), "Relayout: from\n  ", to_string(domain_), "\nto\n  ",
              to_string(range_), "\nwhich has not as many dims");
}

Vector Relayout::operator()(const Vector& x) {
  if (!map_ || map_->domain() != x.space()) {
    RIESZ_CHECK(matches(x.space(), domain_), "Relayout: takes vectors of\n  ", to_string(domain_), "\nnot of\n  ",
                to_string(x.space()), "\nbring it there with between(X, Y)");
    map_ = between(x.space(), range_.with_shape(x.space().shape()));
  }
  return (*map_)(x);
}

}  // namespace riesz
