// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/partition/partition.h"
#include "riesz/partition/split.h"

namespace riesz {

/// How a vector lies on one axis of the grid: what each worker holds → the vector meant → how ⟨x, y⟩ counts
/// it.
///
///     Sharded     its piece                            the pieces together     sum over the workers
///     Replicated  the same vector, computed the same   that vector             counted once
///     Copied      a copy, to be used differently       that vector             sum over the workers
///     Partial     a term                               the sum of the terms    sum over the workers
enum class Placement { Sharded, Replicated, Copied, Partial };

/// Copied ↔ Partial; Sharded and Replicated are their own duals.
Placement dual(Placement placement);
/// "Sharded", "Replicated", "Copied", "Partial".
std::string to_string(Placement placement);

/// One axis that shards a dim: balanced in whole units of the dim, unless a split is given. Where a given
/// split overlaps, the workers hold copies of one element, or, in the dual, terms of it.
struct Shard {
  int axis;  ///< position on the grid
  std::optional<Split> split;
  bool terms = false;
  bool zigzag = false;  ///< of a dim of any extent: becomes Split::zigzag when the extent is known

  bool overlaps() const { return split && split->overlaps(); }

  bool operator==(const Shard&) const = default;
};

/// Who holds what: a partition, a global shape, per dim the ordered list of axes that shard it (major to
/// minor, splits nesting: 6 elements on 2 x 2 workers are 2, 1, 2, 1), and a placement for each other axis. A
/// cheap, shared, immutable value; every worker can build every space; nothing here communicates.
///
///     Space X = Space(mesh, {B, T, C}).sharded(0, "dp");                         // tp: Replicated
///     Space H = Space(mesh, {B, T, 4 * C}).sharded(0, "dp").sharded(2, "tp");
class Space {
 public:
  /// An extent that the value decides: layers are built with it, values never have it.
  static constexpr std::int64_t any = -1;

  /// Replicated on every axis.
  Space(Partition partition, std::vector<std::int64_t> shape);

  /// `axis` shards `dim`, as the innermost of the axes that shard `dim` so far. @throws Error if it shards a
  /// dim already, or on no such axis or dim.
  Space sharded(int dim, const std::string& axis) const;
  /// The same with a split of one's own; where it overlaps, workers hold copies or, on request, terms.
  /// @throws Error unless it has the axis's workers and fits what it splits; or if it overlaps and another
  /// axis shards the dim too.
  Space sharded(int dim, const std::string& axis, const Split& split, bool terms = false) const;
  /// `axis` shards `dim`, as the first, in zigzag, also where its extent is any. @throws Error if another
  /// axis is before.
  Space zigzag(int dim, const std::string& axis) const;
  /// `axis` shards `dim` like a shard of another space.
  Space sharded_like(int dim, const std::string& axis, const Shard& shard) const;
  Space replicated(const std::string& axis) const { return placed(axis, Placement::Replicated); }
  Space copied(const std::string& axis) const { return placed(axis, Placement::Copied); }
  Space partial(const std::string& axis) const { return placed(axis, Placement::Partial); }
  /// `axis` placed anew as Replicated, Copied or Partial; if it sharded a dim, it does so no more.
  Space placed(const std::string& axis, Placement placement) const;
  /// Balanced shards of `dim` hold whole units of it.
  Space unit(int dim, std::int64_t unit) const;
  /// The same lay-out of another shape with as many dims. @throws Error where units or given splits do not
  /// fit it.
  Space with_shape(std::vector<std::int64_t> shape) const;
  /// The same vector on other workers, each axis placed as the one of its name here, which may have another
  /// extent; axes of this name that are not there fall away, and those that only `partition` has are
  /// Replicated. A split that was given for other than the axis's workers becomes a balanced one, and one
  /// that overlaps Copied. @post on(partition()) == *this
  Space on(const Partition& partition) const;

  const Partition& partition() const;
  const std::vector<std::int64_t>& shape() const;
  int dims() const;
  /// No dim is `any`.
  bool concrete() const;
  /// Elements of the vector meant.
  std::int64_t numel() const;
  std::int64_t unit_of(int dim) const;
  /// The axes that shard a dim, major to minor.
  const std::vector<Shard>& shards(int dim) const;
  Placement placement(int axis) const;
  Placement placement(const std::string& axis) const;
  /// The dim that an axis shards, or −1.
  int dim_of(int axis) const;

  /// The global indices that the worker of `rank` holds, per dim in its local order. @throws Error if a dim
  /// is `any`.
  Boxes boxes(int rank) const;
  /// The same where it is one interval per dim. @throws Error where it is not.
  Box box(int rank) const;
  /// What a worker at `coordinate` of the axis that is the dim's shard number `level` holds of what `outer`
  /// holds.
  Intervals piece_of(int dim, std::size_t level, const Intervals& outer, int coordinate) const;
  /// What a worker at these coordinates holds of one dim.
  Intervals held(int dim, const std::vector<int>& coordinates) const;
  /// Does an axis of the grid make a difference? One of a single worker does only where its split overlaps or
  /// has an order of its own.
  bool counts(int axis) const;
  /// Whether a dim's split overlaps, and then whether what overlaps are copies or, in the dual, terms.
  bool copies(int dim) const;
  bool terms(int dim) const;
  std::vector<std::int64_t> local_shape(int rank) const;
  /// This worker's own; {0} outside the partition.
  const std::vector<std::int64_t>& local_shape() const;
  /// The first rank of `rank`'s fibre along the axes placed as one of `placements`.
  int leader(int rank, std::initializer_list<Placement> placements) const;

  /// Is the shape the same, and does every worker hold the same of it, by the same axes, placed alike? A
  /// split spelled out equals the balanced one where it is it. How an axis of one worker is placed counts
  /// too: so what is refused on many workers is refused on one.
  bool operator==(const Space& other) const;

 private:
  bool lies_like(const Space& other, int dim) const;
  struct Impl;
  friend Space dual(const Space& X);
  explicit Space(std::shared_ptr<Impl> impl);
  /// Every worker sees a given split that does not fit on any.
  void check_splits(int dim) const;
  /// Zigzags of dims whose extent is known become splits.
  void bind_zigzags();

  std::shared_ptr<Impl> impl_;
};

/// Is X the space `pattern`, whose dims of any extent may be of any?
bool matches(const Space& X, const Space& pattern);

/// X*: Copied ↔ Partial, also where splits overlap; Sharded and Replicated stay. @post dual(dual(X)) == X
Space dual(const Space& X);

/// Such as "(8, 128, 512) on (dp=2, tp=4): dim 0 over dp, tp replicated".
std::string to_string(const Space& space);

}  // namespace riesz
