// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

namespace riesz {

/// A phase: a part of a training step. `recompute` is a forward that is repeated inside backward.
enum class Phase { forward, recompute, backward, update };

std::string to_string(Phase phase);

/// An origin: the layer and the phase for which messages are sent.
struct Origin {
  std::string layer;  ///< a module's path, such as "transformer.h.0.attn.c_attn"; empty: of the whole model
  Phase phase = Phase::forward;
};

/// A layer scope: an RAII object that sets the origin of this thread's work while it lives. Scopes nest. Code
/// that runs a layer's work later, in backward or on another thread, keeps `current()` and opens a scope with
/// it there. `Counters` record traffic by origin, and errors name the layer that an exception has left. A
/// scope costs some nanoseconds if its origin exists already.
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

  /// The innermost layer that this thread's last exception has left, for the code that catches it. Empty if
  /// there is none, or if a layer has been entered since.
  static std::string left_by_exception();
  /// Clears or sets that layer. Code calls `forget_exception` before it throws another exception, and
  /// `leave_by_exception` before it rethrows an exception of another thread.
  static void forget_exception();
  static void leave_by_exception(std::string layer);

 private:
  std::shared_ptr<const Origin> outer_;
  int exceptions_;  // under way when it was opened
};

/// A phase scope: an RAII object that replaces the phase `forward` of the layers that this thread opens while
/// it lives. Origins have it only while `Counters` keep records or a `Recorder` records, for nothing else
/// shows phases. Scopes nest.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

  /// The phase that this thread's innermost scope set; `forward` if there is none.
  static Phase current();

 private:
  Phase outer_;
};

/// An observer of layers: an object that is told which layers its thread enters and leaves, in forward,
/// backward or an update. Only a thread's innermost observer is told.
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
