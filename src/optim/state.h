// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz {

/// Calls to the owner of some state, where something is written into it. Told on all workers alike, once
/// for all views that share it.
struct Written {
  std::function<void()> whole;    ///< makes what is derived from the state anew
  std::function<void()> in_part;  ///< some of what belongs together was not written
  /// Before anything is written: makes the views show the state of now, for some may not be written. May be
  /// empty.
  std::function<void()> begins = {};
};

/// State that lies elsewhere than in memory, such as on a disk. It is valid as long as its owner is not in a
/// step.
class StateElsewhere {
 public:
  virtual ~StateElsewhere() = default;
  virtual at::TensorOptions options() const = 0;
  /// A copy, flat and contiguous.
  virtual at::Tensor read() const = 0;
  virtual void write(const at::Tensor& values) const = 0;
};

/// This worker's part of a vector of training's state: a value, a master, a moment, a number. Its name, and
/// which elements lie here, are enough to write it anywhere and to read it back at another layout.
struct StateView {
  std::string name;   ///< of the parameter; or of what keeps it, such as "loss_scale"
  std::string key;    ///< "value", "master", "first", …
  Space space;        ///< of the vector
  Interval interval;  ///< of this worker's local part, in row-major order: those that lie here
  /// Does this worker count them? Exactly one worker counts each element. Where a parameter has a copy, under
  /// the same name, in another store of `several`, the first store's counts.
  bool counted;
  /// The state itself, flat and contiguous; writing into it changes the state. Undefined where it lies
  /// `elsewhere`.
  at::Tensor tensor;
  /// nullptr: there is nobody to tell.
  std::shared_ptr<const Written> written = nullptr;
  std::shared_ptr<const StateElsewhere> elsewhere = nullptr;

  at::TensorOptions options() const { return elsewhere ? elsewhere->options() : tensor.options(); }
  /// The state itself, or a copy of what lies elsewhere.
  at::Tensor read() const { return elsewhere ? elsewhere->read() : tensor; }
  /// Gives `f` the state itself, or a copy that is written back.
  void change(const std::function<void(const at::Tensor&)>& f) const;
};

/// All of what a worker holds, in any order; a vector in several views, or in none.
using State = std::vector<StateView>;

/// @throws Error naming what this worker counts twice: two vectors of one name. Local.
void check_each_once(const State& state);

/// Tells the owners of these views that something will be written into them.
void tell_written_next(const State& state);
/// Tells the owners of these views, after they were written, or with `in_part` some of them.
void tell_written(const State& state, bool in_part = false);

/// A copy of a state in memory, each element on the worker that counts it. Any training of the same
/// parameters may go on from it, at another layout, stage and number of stores.
///
///     SavedState saved(world, optimizer.state());
///     …                                              // made anew, on other grids
///     saved.load(other.state());                     // values, optimizer and number of steps
class SavedState {
 public:
  /// Copies these views of each worker of P. Local. @throws Error as `check_each_once`.
  SavedState(const Partition& P, const State& state);

  /// Writes into the views what was saved of their vectors; the owner of the state then goes on from it. A
  /// worker's own state, such as 1-bit Adam's errors, is restored only on the same grid; elsewhere it begins
  /// at zero. Collective over P. Only elements on other workers move, once.
  /// @throws Error on all workers, before anything is written, naming a vector that was not saved, had other
  /// elements or another type.
  void load(const State& state) const;

  /// The bytes of this worker's copies.
  std::int64_t bytes() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// A key that no other worker has, for state that only this worker of P can use.
std::string own_key(const std::string& key, const Partition& P);

/// A view of a number of an optimizer or a loss scale, alike on all workers of P; the first worker counts it.
/// The number must not move in memory.
StateView view_of(const std::string& name, const std::string& key, const Partition& P, std::int64_t& number);
StateView view_of(const std::string& name, const std::string& key, const Partition& P, double& number);

}  // namespace riesz
