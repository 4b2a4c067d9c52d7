// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/last_position.h"

#include "riesz/nn/vectors/shape.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::models {

Vector last_position(const Vector& x, const Space& Y) {
  const std::vector<std::int64_t>& shape = x.space().shape();
  if (shape[1] == 1) return x;
  return to_space(reshape(select(x, 1, shape[1] - 1), {shape[0], 1, shape[2]}), Y);
}

}  // namespace riesz::models
