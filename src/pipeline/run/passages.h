// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/nn/recompute/region_scope.h"
#include "riesz/partition/vector.h"
#include "riesz/primitives/chain.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// A gradient that comes back from where a vector went.
struct Return {
  Pending coming;
  int chunk;
};

/// A vector that leaves a passage, and the gradients that come back.
struct Departure {
  Vector x;
  std::vector<Return> gradients;
  std::optional<Vector> seed;  ///< of a loss

  /// Their sum, in x's dual. @pre one has come, or is the seed.
  Vector gradient();
};

/// A vector x that comes to a passage, as y = A x.
struct Arrival {
  Operator A;
  Vector x;
  /// Its passage and its departure there, to which a gradient goes back; then y is a leaf here.
  std::optional<std::pair<std::size_t, std::size_t>> from;
  Pending coming;
  std::optional<Vector> y;
};

/// The part of a micro-batch between two boundaries, recorded in a chain of its own: backward goes through it
/// at once.
struct Passage {
  int chunk;
  Partition home;
  bool mine;            ///< does this worker take part?
  std::uint64_t first;  ///< of autograd's numbers on this thread: its nodes have it, or later ones
  std::unique_ptr<Chain> chain;
  std::unique_ptr<DeferredGradients> weights;  ///< gradients that have a turn of their own
  std::unique_ptr<RegionScope> regions;        ///< where the schedule says which run again
  std::deque<Departure> departures;
  std::deque<Arrival> arrivals;
  std::vector<bool> looked_at;  ///< its nodes that `Passages::mixed` has seen, from `first` on

  /// The arrival of x, if it has been brought here before.
  Arrival* arrival_of(const Vector& x);
};

/// The passages of a micro-batch, in the order of its program.
class Passages {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  Passage& operator[](std::size_t k) { return all_[k]; }
  Passage& last() { return all_.back(); }
  const Passage& last() const { return all_.back(); }
  Passage& add(int chunk, const Partition& home);
  /// Do two of this worker's go through one chunk?
  bool comes_back() const;
  /// Is one of them in this chunk?
  bool visited(int chunk) const;

  /// The passage in which x was computed, or arrived. Values computed between modules are in the last passage
  /// before that lies where x does. Nothing where it depends on no parameter or arrival.
  std::optional<std::size_t> of(const Vector& x) const;
  /// Passage k computed x: has it used, between modules, what an earlier one has computed? That one; which
  /// autograd would go back through twice. Each node is looked at once.
  std::optional<std::size_t> mixed(std::size_t k, const Vector& x);
  /// x leaves passage k: the number of its departure.
  std::size_t depart(std::size_t k, const Vector& x);

 private:
  std::deque<Passage> all_;
};

}  // namespace riesz
