// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// The nodes of all contractions that read one x by one operator, in one recording of a chain. Backward
/// reaches each of them on every worker, in one order, the one that was recorded first last of all. So the
/// first that runs reads x again, each adds its gradient in x to the others', and the one recorded first
/// writes the sum.
class SharedRead {
 public:
  /// The state of one backward, as far as it has come.
  struct Pass {
    at::Tensor gathered;
    at::Tensor sum;
  };

  /// The gathered value; it is released at the end of a backward.
  explicit SharedRead(std::shared_ptr<at::Tensor> gathered) : gathered_(std::move(gathered)) {}

  Pass& pass(int backward);
  void end(int backward);

 private:
  std::weak_ptr<at::Tensor> gathered_;
  std::mutex mutex_;  // backward may run on the engine's threads
  std::map<int, Pass> passes_;
};

/// A contraction's share in what others read of the same x.
struct SharedX {
  /// x of the type that is asked for.
  at::Tensor given;
  /// x as read, undefined where nobody has read it yet; nullptr: it is not shared.
  std::shared_ptr<at::Tensor> gathered;
  /// Where it is recorded, those that read x alike; else nullptr.
  std::shared_ptr<SharedRead> group;
  /// Is this the first that read x?
  bool first = true;
};

/// The shared read of x for a contraction that reads it by `read` as `type`. Recorded calls share within one
/// recording of a chain; others within one call of the outermost layer. The same on all workers, for it
/// follows from the program alone. `in_panels`: x is not read whole, and nothing but its cast is shared.
/// @throws Error where x was written to, or began to require a gradient, since it was read.
SharedX shared_x(const Vector& x, const Operator& read, std::optional<at::ScalarType> type, bool in_panels);

/// Leaves to others what the first contraction has read of x, `*mine.gathered`, while a handle of x lives.
void leave_to_others(const Vector& x, const Operator& read, const SharedX& mine);

}  // namespace riesz::detail
