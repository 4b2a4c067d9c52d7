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

/// A scope of a thread that puts gradients of weights off, around forward and backward (the B and W of
/// zero-bubble pipelines, Qi et al., 2401.10241). Backward goes on without them, and `compute` computes them
/// later. It acts on contractions whose w is a parameter (`ContractionOptions::w_is_parameter`, which
/// `Linear` sets). A gradient that is put off keeps x as given and ȳ as read. A `pullback` by such a w inside
/// sees no gradient. A backward after the scope's end puts nothing off. Scopes nest.
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

  /// Ends the scope on this thread. Backward of what was computed in it still puts gradients off. @throws
  /// Error unless it is this thread's innermost.
  void leave();
  /// Computes all gradients put off so far and adds them to their weights' gradients, in the order of
  /// backward. Collective over the partitions of those contractions. Gradients not computed when the scope
  /// ends are dropped.
  void compute();
  /// Gradients put off and not yet computed.
  std::size_t size() const;

  /// The queue of this thread's innermost scope, or nullptr where none is open.
  using Queue = std::shared_ptr<detail::DeferredQueue>;
  static Queue current();
  /// Makes `compute` call `then` after the gradients put off so far and before later ones. Calls it at once
  /// where the scope has ended. Gradients not computed when the scope ends are dropped.
  static void after_these(const Queue& queue, std::function<void()> then);

 private:
  Queue queue_;
  Queue outer_;
  bool left_ = false;
};

}  // namespace riesz
