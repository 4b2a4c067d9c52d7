// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace riesz {

/// The order in which a program visits the units of a model, forward and backward. A visit begins when a unit
/// is used and ends when another is. A visit leaves a mark in the current Chain; by the marks backward says
/// when it ends them, in reverse.
///
/// A *pass* is what one Chain records, or several that are made in one pass, with the regions that are
/// computed again in their backward. Several may be recorded at once, and go backward in any order, one at a
/// time. Where gradients are put off
/// (`DeferredGradients`), a visit is not over before they are computed.
class Visits {
 public:
  struct Events {
    /// Forward or backward comes to a unit; `next` is the one that comes after it, as far as is known.
    std::function<void(std::size_t unit, std::optional<std::size_t> next)> enter;
    /// A pass (a number of its own) is to bring more gradients of a unit, from another chain or from what is
    /// put off. All gradients since the last event are of this pass.
    std::function<void(std::size_t unit, std::uint64_t pass)> waits;
    /// A pass has brought all gradients of a unit: no visit of it is open there, nor is one to come in a
    /// region that is to be computed again. `again`: this was said before, and backward has recorded more
    /// since.
    std::function<void(std::size_t unit, std::uint64_t pass, bool again)> passed;
    /// A pass has gone backward that did not visit a unit. Said when the next visit begins, as what else is
    /// known only at a pass's end.
    std::function<void(std::size_t unit)> left_out;
  };

  Visits(std::size_t units, Events events);

  /// Makes this thread the user of the units. Call it before `visit`. @throws Error naming `what`, if
  /// gradients are recorded outside a Chain. Also if another thread is in a call that used a unit, except as
  /// `Zero` says.
  void begin_use(const std::string& what);
  /// A unit, whose parameters are on `device`, is about to be used. The backward of the Chain brings the
  /// events. @pre begin_use
  void visit(std::size_t unit, at::Device device);

  /// Is there a visit of the unit, in any pass, that is not over?
  bool open(std::size_t unit) const;

  /// Passes that visited units on this worker since `forget_ended`.
  struct Passes {
    std::int64_t went_back = 0;
    std::int64_t under_way = 0;  ///< recorded, with a chain that lives and has not gone backward
  };
  Passes passes() const;

  /// Says now what the next visit would: all that is known of passes that have ended.
  void say_ended();
  /// Nothing more is said of passes that have gone backward.
  void forget_ended();

 private:
  struct Pass;
  struct Visit;
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace riesz
