// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace riesz {

/// The order of communication of one loss. Every communicating operator takes the chain's zero-volume token
/// and gives it the next, so backward reaches every communication on every worker, in exactly the reverse
/// order, also on a worker that has no data or ignores a result. One per loss (per stage and micro-batch of a
/// pipeline); a scope of the thread, scopes nest. Calls without gradient do not touch it.
///
///     Chain chain;
///     backward(loss(model(x)));
class Chain {
 public:
  Chain();
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// The innermost chain of this thread, or nullptr.
  static Chain* current();

  /// The token that the next operator takes; zero-volume, on `device` if it is the first.
  at::Tensor token(at::Device device = at::kCPU);
  /// The token that an operator gives.
  void advance(at::Tensor token);
  /// The first token, a leaf: the gradient that reaches it has passed every operator of the chain.
  at::Tensor head(at::Device device = at::kCPU);
  /// Starts anew: what was recorded is let go.
  void restart();
  /// A number of what is being recorded: another in each chain, and after each restart.
  std::uint64_t recording() const { return *recording_; }
  /// Lives as long as that.
  std::shared_ptr<const void> life() const { return recording_; }

  /// Has backward call `passed` here: when all that was recorded after on `device` is done with, and nothing
  /// before is begun; autograd has a thread for each device, and this is called in that one's. Called without
  /// gradients being recorded.
  void on_backward(std::function<void()> passed, at::Device device = at::kCPU);
  /// Has backward call `begun` first of all; the last one given counts.
  void before_backward(std::function<void()> begun) { begun_ = std::move(begun); }
  /// Backward begins. `backward` and `pullback` call it.
  void begin_backward();

 private:
  Chain* outer_;
  std::shared_ptr<const std::uint64_t> recording_;
  std::function<void()> begun_;
  at::Tensor head_;
  at::Tensor token_;
};

}  // namespace riesz
