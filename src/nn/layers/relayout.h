// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map into a space whose dims of any extent each vector binds, kept for the last vector's space:
/// where a model takes a vector from where one layer leaves it to where another needs it.
class Relayout {
 public:
  explicit Relayout(Space Y);

  /// between(X, Y)(x), with Y bound to the shape of x in X. Differentiable; collective over both partitions.
  /// @throws Error naming both spaces unless they have as many dims.
  Vector operator()(const Vector& x);

 private:
  Space range_;
  std::optional<Operator> map_;  // of the last space
};

}  // namespace riesz
