// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace riesz {

/// The order in which a program visits the units of a model, forward and backward. A visit begins when a unit
/// is used and ends when another is; backward ends the visits in reverse, which the marks tell that they
/// leave in the current Chain.
class Visits {
 public:
  struct Events {
    /// Forward or backward comes to a unit; `next` is the one that comes after it, as far as is known.
    std::function<void(std::size_t unit, std::optional<std::size_t> next)> enter;
    /// Backward has passed the last visit of a unit: no more gradients reach it in what is recorded.
    std::function<void(std::size_t unit)> done;
  };

  Visits(std::size_t units, Events events);

  /// A unit, whose parameters are on `device`, is about to be used. With gradients recorded it needs a Chain,
  /// whose backward brings the events. @throws Error without one, naming `what`.
  void visit(std::size_t unit, const std::string& what, at::Device device = at::kCPU);

 private:
  struct Visit;
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace riesz
