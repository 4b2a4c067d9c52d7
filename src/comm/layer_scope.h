// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

namespace riesz {

/// A part of a training step.
/// `recompute`: forward once more, in the midst of backward.
enum class Phase { forward, recompute, backward, update };

std::string to_string(Phase phase);

/// On behalf of which layer, and in which phase, messages are sent.
struct Origin {
  std::string layer;  ///< a module's path, such as "transformer.h.0.attn.c_attn"; empty: of the whole model
  Phase phase = Phase::forward;
};

/// While it lives, what this thread does is of that origin; scopes nest. Who runs a layer's work later, in
/// backward or on another thread, takes `current` along and opens it there again. `Counters` that keep
/// records count by it what is sent, and it says which layer an exception has left. Some nanoseconds, where
/// the origin is made already.
class LayerScope {
 public:
  /// Changes nothing.
  LayerScope() : LayerScope(current()) {}
  explicit LayerScope(std::string layer, Phase phase = Phase::forward);
  explicit LayerScope(std::shared_ptr<const Origin> origin);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

  /// The innermost origin of this thread, or nullptr.
  static std::shared_ptr<const Origin> current();
  /// Lives as long as the outermost scope of this thread, and is another in each; nullptr: there is none.
  static std::shared_ptr<const void> call();

  /// The innermost layer that this thread's last exception has left, for who catches it; empty: none, or a
  /// layer has been entered since.
  static std::string left_by_exception();
  /// For who throws another exception; and for who throws on what another thread has thrown in that layer.
  static void forget_exception();
  static void leave_by_exception(std::string layer);

 private:
  std::shared_ptr<const Origin> outer_;
  int exceptions_;  // under way when it was opened
  bool outermost_;
};

/// While it lives, what this thread does forward is of the phase `recompute`; scopes nest.
class ForwardAgain {
 public:
  ForwardAgain();
  ~ForwardAgain();
  ForwardAgain(const ForwardAgain&) = delete;
  ForwardAgain& operator=(const ForwardAgain&) = delete;

 private:
  bool outer_;
};

/// Is told, while it lives, which layers its thread enters and leaves, forward, backward or in an update. One
/// a thread: the innermost.
class LayerWatch {
 public:
  LayerWatch();
  virtual ~LayerWatch();
  LayerWatch(const LayerWatch&) = delete;
  LayerWatch& operator=(const LayerWatch&) = delete;

  virtual void entered(const std::shared_ptr<const Origin>& origin) = 0;
  /// Leaves what was entered last. Also while an exception is under way, so it does not throw.
  virtual void left() noexcept = 0;

 private:
  LayerWatch* outer_;
};

}  // namespace riesz
