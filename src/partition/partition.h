// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace riesz {

/// A named axis of a grid of workers. (A tensor has dims; a grid has axes.)
struct Axis {
  std::string name;
  int extent = 1;

  bool operator==(const Axis&) const = default;
};

/// A partition: an ordered team of workers on a Cartesian grid with named axes. It is a cheap, shared,
/// immutable value. Ranks are row-major: the last axis is the fastest. Every worker knows every partition,
/// also those that it is not in; everything here is local and communicates nothing.
class Partition {
 public:
  /// All workers of the job, on one axis named "world". @throws Error outside a Runtime's life.
  static Partition world();
  /// A simulated partition: `size` workers that need not exist, seen by the one of rank `me`. Spaces and
  /// operators on it can be planned, printed and priced without MPI. Operators that send cannot be applied on
  /// several such workers. (A `Simulation` is something else: it runs a program as one worker of a job.)
  static Partition simulated(int size, int me = 0);

  /// The same workers on a grid: world.grid({{"dp", 2}, {"tp", 4}}).
  /// @throws Error naming both sizes unless the extents' product is size(); or on a name twice, or an extent
  /// < 1.
  Partition grid(const std::vector<Axis>& axes) const;
  /// The fibre through this worker along these axes: the workers that have its coordinates on every other
  /// axis. Its grid has these axes, in the order of this grid, whatever the order in which they are given.
  /// @throws Error on a worker outside the partition, on an unknown axis, or on an axis given twice.
  Partition along(const std::vector<std::string>& axes) const;
  Partition along(std::initializer_list<std::string> axes) const {
    return along(std::vector<std::string>(axes));
  }
  Partition along(const std::string& axis) const { return along(std::vector<std::string>{axis}); }
  /// The slice where `axis` is at `coordinate`: its workers, on the remaining axes, wherever this worker is.
  /// @throws Error on an unknown axis, or a coordinate outside it.
  Partition at(const std::string& axis, int coordinate) const;
  /// One axis seen as several, major to minor: factor("tp", {{"a", 2}, {"b", 2}}). @throws Error as `grid`
  /// does, or unless the parts' product is the axis's extent.
  Partition factor(const std::string& axis, const std::vector<Axis>& parts) const;
  /// The workers of these ranks, in this order, on one axis named "subset". @throws Error on a rank twice or
  /// unknown.
  Partition subset(const std::vector<int>& ranks) const;

  int size() const;
  const std::vector<Axis>& axes() const;
  /// The axis at a position, 0 … axes − 1.
  const Axis& axis(int position) const { return axes()[static_cast<std::size_t>(position)]; }
  /// The position of an axis of this name, or −1.
  int find(const std::string& axis) const;
  /// The position of an axis of this name. @throws Error that lists the axes if there is none.
  int index(const std::string& axis) const;
  /// The positions of several axes. @throws Error as `index` does, or if one is given twice.
  std::vector<int> indices(const std::vector<std::string>& axes) const;
  int extent(const std::string& axis) const;

  /// True if this worker is in the partition.
  bool active() const;
  /// This worker's rank in the partition, or −1 outside it.
  int rank() const;
  /// The ranks in the job of its workers, by rank here.
  const std::vector<int>& workers() const;
  /// A hash of its grid and its workers, in order: the same on all workers of the job. Made once, with the
  /// partition, so that the cost of an operator does not grow with the number of workers.
  std::uint64_t digest() const;
  /// The rank in the job of the worker of `rank` here.
  int world_rank(int rank) const;
  /// The rank here of a worker of the job, or −1.
  int rank_in(int world_rank) const;
  /// False for a simulated partition.
  bool real() const;

  /// Coordinates of a rank, by axis; rank_of(coordinates(r)) == r.
  std::vector<int> coordinates(int rank) const;
  int coordinate(int rank, int axis) const;
  int rank_of(const std::vector<int>& coordinates) const;
  /// The ranks that agree with `rank` off the axes of these positions, in rank order.
  std::vector<int> fibre(int rank, const std::vector<int>& axes) const;

  /// True for the same workers in the same order, on the same grid, seen by the same worker of the same job.
  /// A `Simulation` is another job. So a worker's plans can be cached by their spaces.
  bool operator==(const Partition& other) const;

 private:
  struct Impl;
  Partition(std::vector<int> workers, std::vector<Axis> axes, int me, bool real);
  friend Partition operator|(const Partition& P, const Partition& Q);

  std::shared_ptr<const Impl> impl_;
};

/// Checks that the workers exist. @throws Error naming `what` if the partition is simulated and has more than
/// one worker.
void check_real(const std::string& what, const Partition& partition);

/// The union: P's workers, then those that only Q has, on one axis named "union". @throws Error if one of
/// them is simulated and the other is not.
Partition operator|(const Partition& P, const Partition& Q);

/// Such as "(dp=2, tp=4)".
std::string to_string(const Partition& partition);

}  // namespace riesz
