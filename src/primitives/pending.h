// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "riesz/partition/vector.h"

namespace riesz {

/// What `Operator::start` returns: y = A x on its way, while the program computes. Messages move in the
/// background. `wait` gives y. Where it is dropped instead, its messages still go on to their end and y is
/// let go; an error on the way is then thrown by another wait of this worker, or ends the job. Several may be
/// under way; each is waited for, or dropped, on all workers alike, in one order.
///
/// Both halves are differentiable: the backward of `wait` starts A* ȳ, the backward of `start` waits for it,
/// so what is computed between them in forward hides the messages of forward, and its backward those of
/// backward. A recorded `Pending` that is dropped gives x no gradient.
class Pending {
 public:
  struct Impl;

  explicit Pending(std::unique_ptr<Impl> impl);
  ~Pending();
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;

  /// Goes on as far as it can without waiting: would `wait` return at once?
  bool arrived();
  /// y, in the operator's range. @throws Error if it was waited for before; or unless gradients are recorded,
  /// in the same chain, just if they were at the start; or what went wrong on the way.
  Vector wait();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
