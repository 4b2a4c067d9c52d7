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

/// A placement: how a vector lies on one axis of the grid. The table says what each worker holds, the vector
/// meant, and how ⟨x, y⟩ counts it.
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

/// A shard: the way in which one axis shards a dim. Pieces are balanced in whole units of the dim
/// (`Space::unit`), unless a split is given. Where a given split overlaps, several workers hold copies of an
/// element. In the dual space they hold terms of it.
struct Shard {
  int axis;  ///< position on the grid
  std::optional<Split> split;
  bool terms = false;
  bool zigzag = false;  ///< of a dim of any extent: becomes Split::zigzag when the extent is known

  bool overlaps() const { return split && split->overlaps(); }

  bool operator==(const Shard&) const = default;
};

/// A space: the description of who holds what of a vector. It has a partition, a global shape, and a
/// placement on each axis. For each dim it has the axes that shard it. The axes of a dim are ordered, major
/// to minor, and their splits nest. So 6 elements on 2 x 2 workers are 2, 1, 2, 1. It is a cheap, shared,
/// immutable value. Every worker can build every space; nothing here communicates.
///
///     Space X = Space(mesh, {B, T, C}).sharded(0, "dp");                         // tp: Replicated
///     Space H = Space(mesh, {B, T, 4 * C}).sharded(0, "dp").sharded(2, "tp");
class Space {
 public:
  /// The extent of a dim that differs from vector to vector. Layers are built with it; the space of a vector
  /// never has it.
  static constexpr std::int64_t any = -1;

  /// A space that is Replicated on every axis.
  Space(Partition partition, std::vector<std::int64_t> shape);

  /// `axis` shards `dim`, as the innermost of the axes that shard `dim` so far. @throws Error if it shards a
  /// dim already, or on no such axis or dim.
  Space sharded(int dim, const std::string& axis) const;
  /// The same with a split of your own. Where it overlaps, workers hold copies, or terms if `terms` is true.
  /// @throws Error unless the split has the axis's workers and fits the dim; or if it overlaps and another
  /// axis shards the dim too.
  Space sharded(int dim, const std::string& axis, const Split& split, bool terms = false) const;
  /// `axis` shards `dim` in zigzag (`Split::zigzag`), as the first axis. The extent of `dim` may be `any`.
  /// @throws Error if another axis is before.
  Space zigzag(int dim, const std::string& axis) const;
  /// `axis` shards `dim` like a shard of another space.
  Space sharded_like(int dim, const std::string& axis, const Shard& shard) const;
  Space replicated(const std::string& axis) const { return placed(axis, Placement::Replicated); }
  Space copied(const std::string& axis) const { return placed(axis, Placement::Copied); }
  Space partial(const std::string& axis) const { return placed(axis, Placement::Partial); }
  /// `axis` placed anew as Replicated, Copied or Partial; if it sharded a dim, it does so no more.
  Space placed(const std::string& axis, Placement placement) const;
  /// The same space, but balanced shards of `dim` hold whole units: runs of `unit` elements that stay
  /// together.
  Space unit(int dim, std::int64_t unit) const;
  /// The same placements of another shape with as many dims. A space with a dim of any extent caches its
  /// last four results. @throws Error where units or given splits do not fit it.
  Space with_shape(std::vector<std::int64_t> shape) const;
  /// The same vector on other workers. Each axis is placed as the axis of its name here, which may have
  /// another extent. Axes that only `partition` has are Replicated; axes that it lacks are dropped. A given
  /// split is dropped where the axis has another extent there. Then the axis shards in balanced pieces; or,
  /// if the split overlapped, it is Copied, and Partial if its overlaps were terms.
  /// @post on(partition()) == *this and dual(*this).on(P) == dual(on(P))
  Space on(const Partition& partition) const;

  const Partition& partition() const;
  const std::vector<std::int64_t>& shape() const;
  int dims() const;
  /// True if no dim is `any`.
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
  /// The same for a worker that holds one interval per dim. @throws Error if it holds several intervals of a
  /// dim, or none.
  Box box(int rank) const;
  /// The part of `outer` that one shard of a dim leaves to a worker. The shard is number `level` of the dim,
  /// and the worker is at `coordinate` of its axis.
  Intervals piece_of(int dim, std::size_t level, const Intervals& outer, int coordinate) const;
  /// The intervals of one dim that a worker at these coordinates holds.
  Intervals held(int dim, const std::vector<int>& coordinates) const;
  /// False only for an axis of one worker that shards no dim, or whose worker holds the dim once and in
  /// order.
  bool counts(int axis) const;
  /// True if a dim's split overlaps, and workers hold copies (`copies`) or terms of a sum (`terms`) there.
  bool copies(int dim) const;
  bool terms(int dim) const;
  std::vector<std::int64_t> local_shape(int rank) const;
  /// The shape of this worker's tensor; {0} outside the partition.
  const std::vector<std::int64_t>& local_shape() const;
  /// The first rank of `rank`'s fibre along the axes placed as one of `placements`.
  int leader(int rank, std::initializer_list<Placement> placements) const;

  /// True if the shapes are equal and every worker holds the same by the same axes, placed alike. A given
  /// split that is balanced equals the balanced one. The placement of an axis of one worker is compared too.
  /// So a program that is wrong on many workers fails on one worker as well.
  bool operator==(const Space& other) const;

 private:
  bool lies_like(const Space& other, int dim) const;
  Space reshaped(std::vector<std::int64_t> shape) const;
  struct Bound;
  struct Impl;
  friend Space dual(const Space& X);
  explicit Space(std::shared_ptr<Impl> impl);
  /// A given split that does not fit some worker is an error on every worker.
  void check_splits(int dim) const;
  /// Zigzags of dims whose extent is known become splits.
  void bind_zigzags();

  std::shared_ptr<Impl> impl_;
};

/// True if X is the space `pattern`, whose dims of extent `any` match every extent.
bool matches(const Space& X, const Space& pattern);

/// X*: Copied ↔ Partial; Sharded and Replicated stay. Where splits overlap, copies become terms, and terms
/// copies. @post dual(dual(X)) == X
Space dual(const Space& X);

/// Such as "(8, 128, 512) on (dp=2, tp=4): dim 0 over dp, tp replicated".
std::string to_string(const Space& space);

}  // namespace riesz
