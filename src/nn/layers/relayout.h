// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/primitives/operator.h"

namespace riesz {

/// The natural map between two spaces whose dims of any extent each vector binds, kept for the last shape:
/// where a model takes a vector from one layer's range to another's domain.
class Relayout {
 public:
  /// @throws Error naming both spaces unless they have as many dims.
  Relayout(Space X, Space Y);

  /// between(X, Y)(x), with X and Y bound to x's shape. Differentiable; collective over both partitions.
  /// @throws Error naming both spaces unless x is in X.
  Vector operator()(const Vector& x);

 private:
  Space domain_;
  Space range_;
  std::optional<Operator> map_;  // of the last shape
};

}  // namespace riesz
