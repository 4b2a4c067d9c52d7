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

/// This worker's part of a vector that a training goes on from: a value, a master, a moment, a number. A
/// vector's name, and which of its elements lie here, are all that is needed to write it anywhere and to read
/// it back at another layout.
struct StateView {
  std::string name;   ///< of the parameter; or of what keeps it, such as "loss_scale"
  std::string key;    ///< "value", "master", "first", …
  Space space;        ///< of the vector
  Interval interval;  ///< of this worker's local part, in row-major order: those that lie here
  /// Does this worker count them? Exactly one worker counts each element. Where a parameter has a copy, under
  /// the same name, in another store of `several`, the first store's counts.
  bool counted;
  at::Tensor tensor;  ///< the state itself, flat and contiguous; what is written into it is gone on from
  /// What is to be done when a state was written into, once for all views that share it, by whoever wrote, on
  /// all workers alike: what is derived from the state is made anew. nullptr: nothing.
  std::shared_ptr<const std::function<void()>> written = nullptr;
};

/// All of what a worker holds, in any order; a vector in several views, or in none.
using State = std::vector<StateView>;

/// @throws Error naming what this worker counts twice: two vectors of one name. Local.
void check_each_once(const State& state);

/// Does what is to be done after something was written into these views (`StateView::written`).
void tell_written(const State& state);

/// A copy of a state, each element on the worker that counts it, from which any training of the same
/// parameters may go on: at another layout, stage and number of stores.
///
///     SavedState saved(world, optimizer.state());
///     …                                              // made anew, on other grids
///     saved.load(other.state());                     // values, optimizer and number of steps
class SavedState {
 public:
  /// Of these views of each worker of P. Local. @throws Error as `check_each_once`.
  SavedState(const Partition& P, const State& state);

  /// Writes into the views what was saved of the vectors that they are of. A worker's own state, such as the
  /// errors that 1-bit Adam feeds back, goes on only on the same grid; elsewhere it begins at zero.
  /// Collective over P; each vector's elements that lie elsewhere move once.
  /// Whose state it is goes on from it then.
  /// @throws Error on all workers, before anything is written, naming a vector that was not saved, had other
  /// elements or another type.
  void load(const State& state) const;

  /// The bytes of this worker's copies.
  std::int64_t bytes() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// A key that no other worker has, for what only this worker of P can use.
std::string own_key(const std::string& key, const Partition& P);

/// A number of an optimizer or a loss scale, alike on all workers of P, the first of which counts it. The
/// view is of the number itself: it must not move.
StateView view_of(const std::string& name, const std::string& key, const Partition& P, std::int64_t& number);
StateView view_of(const std::string& name, const std::string& key, const Partition& P, double& number);

}  // namespace riesz
