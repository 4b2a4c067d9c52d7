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

/// An origin: the layer and the phase for which messages are sent.
struct Origin {
  std::string layer;  ///< a module's path, such as "transformer.h.0.attn.c_attn"; empty: of the whole model
  Phase phase = Phase::forward;
};

/// A layer scope: while it lives, this thread works for that origin. Scopes nest. Code that runs a layer's
/// work later, in backward or on another thread, keeps `current` and opens it there again. `Counters` record
/// traffic by it, and errors name the layer that an exception has left. It costs some nanoseconds if the
/// origin exists already.
class LayerScope {
 public:
  /// Keeps the current origin.
  LayerScope() : LayerScope(current()) {}
  explicit LayerScope(std::string layer, Phase phase = Phase::forward);
  explicit LayerScope(std::shared_ptr<const Origin> origin);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

  /// The innermost origin of this thread, or nullptr.
  static std::shared_ptr<const Origin> current();
  /// A token of this thread's outermost scope, which lives as long and is another in each; nullptr outside of
  /// all scopes.
  static std::shared_ptr<const void> call();

  /// The innermost layer that this thread's last exception has left, for the code that catches it. Empty if
  /// there is none, or if a layer has been entered since.
  static std::string left_by_exception();
  /// `forget_exception` is for code that throws another exception; `leave_by_exception` for code that
  /// rethrows what another thread threw in that layer.
  static void forget_exception();
  static void leave_by_exception(std::string layer);

 private:
  std::shared_ptr<const Origin> outer_;
  int exceptions_;  // under way when it was opened
  bool outermost_;
};

/// A phase scope: while it lives, layers that this thread opens in the phase `forward` get `phase` instead.
/// Scopes nest.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phase outer_;
};

/// An observer of layers: is told which layers its thread enters and leaves, in forward, backward or an
/// update. Only the innermost one of a thread is told.
class LayerObserver {
 public:
  LayerObserver();
  virtual ~LayerObserver();
  LayerObserver(const LayerObserver&) = delete;
  LayerObserver& operator=(const LayerObserver&) = delete;

  virtual void entered(const std::shared_ptr<const Origin>& origin) = 0;
  /// The layer entered last is left. Must not throw: an exception may be under way.
  virtual void left() noexcept = 0;

 private:
  LayerObserver* outer_;
};

}  // namespace riesz
