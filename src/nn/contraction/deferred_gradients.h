// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace riesz {

namespace detail {
struct DeferredQueue;
}

/// While one is open, contractions whose w is said to be a parameter (`ContractionOptions::w_is_parameter`,
/// which `Linear` sets) put their gradient in w off: backward goes on to what waits for it, and `compute`
/// makes up for it (the B and W of zero-bubble pipelines, Qi et al., 2401.10241). A scope of the thread,
/// around forward and backward; scopes nest. What is put off keeps x as given and ȳ as read. A `pullback` by
/// such a w inside sees no gradient. A backward after the scope's end puts nothing off.
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

  /// Adds all gradients put off so far to their weights', in the order of backward. Collective over the
  /// partitions of those contractions; what is not computed when the scope ends is dropped.
  void compute();
  /// Gradients put off and not yet computed.
  std::size_t size() const;

  /// Is one open on this thread?
  static bool is_open();

 private:
  std::shared_ptr<detail::DeferredQueue> queue_;
  std::shared_ptr<detail::DeferredQueue> outer_;
};

}  // namespace riesz
