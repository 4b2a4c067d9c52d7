// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "riesz/primitives/primitive.h"

namespace riesz::testing {

/// A primitive whose map and adjoint are given, right or wrong; for tests of what is expected of primitives.
class CustomPrimitive final : public Primitive {
 public:
  using Map = std::function<at::Tensor(const at::Tensor&)>;
  using Adjoint = std::function<Step()>;

  CustomPrimitive(std::string name, Space X, Space Y, Map map, Adjoint adjoint)
      : Primitive(std::move(name), std::move(X), std::move(Y), {0}),
        map_(std::move(map)),
        adjoint_(std::move(adjoint)) {}

  at::Tensor apply(const at::Tensor& x) const override { return map_(x); }
  Step adjoint() const override { return adjoint_(); }
  Traffic traffic(int) const override { return {}; }
  bool sends() const override { return true; }

 private:
  Map map_;
  Adjoint adjoint_;
};

inline Step custom(std::string name, Space X, Space Y, CustomPrimitive::Map map,
                   CustomPrimitive::Adjoint adjoint) {
  return std::make_shared<CustomPrimitive>(std::move(name), std::move(X), std::move(Y), std::move(map),
                                           std::move(adjoint));
}

}  // namespace riesz::testing
