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
/// reaches each node on every worker, in the reverse of the recorded order. The first node that runs reads x
/// again. Each adds its gradient in x to the sum, and the last writes it.
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

/// What a contraction shares with others that read the same x.
struct SharedX {
  /// x of the type that is asked for.
  at::Tensor given;
  /// x itself.
  at::Tensor uncast;
  /// x as read; undefined where no contraction has read it yet. nullptr: it is not shared.
  std::shared_ptr<at::Tensor> gathered;
  /// The contractions that read x alike, if this one is recorded; else nullptr.
  std::shared_ptr<SharedRead> group;
  /// Is this the first of them, which goes back last?
  bool first = true;
  /// Does this one read x, for others?
  bool reads = true;
};

/// The shared read of x for a contraction that reads it by `read` as `type`. Recorded calls share within one
/// recording of a chain; others within one call of the outermost layer. It follows from the program alone, so
/// it is the same on all workers. With `in_panels` x is not read whole, and only its cast is shared.
/// `recorded`: this contraction goes back.
/// @throws Error where x was written to, or began to require a gradient, since it was read.
SharedX shared_x(const Vector& x, const Operator& read, std::optional<at::ScalarType> type, bool in_panels,
                 bool recorded);

/// Leaves `*mine.gathered`, which the first contraction has read of x, to the others while a handle of x
/// lives.
void leave_to_others(const Vector& x, const Operator& read, const SharedX& mine);

}  // namespace riesz::detail
