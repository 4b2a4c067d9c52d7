// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace riesz {

namespace detail {
struct DeferredQueue;
}

/// While one is open, contractions whose w is a parameter (`ContractionOptions::w_is_parameter`, which
/// `Linear` sets) put their gradient in w off. Backward goes on, and `compute` computes the rest (the B and W
/// of zero-bubble pipelines, Qi et al., 2401.10241). A scope of the thread, around forward and backward;
/// scopes nest. A gradient that is put off keeps x as given and ȳ as read. A `pullback` by such a w inside
/// sees no gradient. A backward after the scope's end puts nothing off.
///
///     DeferredGradients later;
///     Chain chain;
///     backward(loss(model(x)));   // gradients of all but the weights
///     later.compute();
class DeferredGradients {
 public:
  DeferredGradients();
  ~DeferredGradients();
  DeferredGradients(const DeferredGradients&) = delete;
  DeferredGradients& operator=(const DeferredGradients&) = delete;

  /// This thread's scope ends here; what is put off in backward of what was computed in it still is. @throws
  /// Error unless it is this thread's innermost.
  void leave();
  /// Adds all gradients put off so far to their weights', in the order of backward. Collective over the
  /// partitions of those contractions; what is not computed when the scope ends is dropped.
  void compute();
  /// Gradients put off and not yet computed.
  std::size_t size() const;

  /// The queue that puts gradients off on this thread: the innermost one's, nullptr where none is open.
  using Queue = std::shared_ptr<detail::DeferredQueue>;
  static Queue current();
  /// Has `compute` call `then` between what was put off before and what is after; at once where the scope has
  /// ended. Gradients that were not computed when it ends are dropped.
  static void after_these(const Queue& queue, std::function<void()> then);

 private:
  Queue queue_;
  Queue outer_;
  bool left_ = false;
};

}  // namespace riesz
