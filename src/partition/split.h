// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/partition/intervals/segments.h"

namespace riesz {

/// A split: the intervals of one dim that each worker of one axis holds. They cover [0, n). They are
/// disjoint, except in a `covering` split: there a worker may hold a copy of what another owns (a halo). A
/// cheap, shared, immutable value.
class Split {
 public:
  /// p intervals that cover [0, n) in units: runs of `unit` elements. The first (n/unit) mod p intervals have
  /// one unit more. Some are empty if p > n/unit. balanced(7, 3) has sizes 3, 2, 2; balanced(6, 4, 2) has 2,
  /// 2, 2, 0.
  /// @throws Error unless unit divides n, n ≥ 0, p ≥ 1 and unit ≥ 1.
  static Split balanced(std::int64_t n, int p, std::int64_t unit = 1);

  /// Intervals of the given sizes: sizes({3, 0, 4}) is [0,3) [3,3) [3,7). @throws Error on a negative size.
  static Split sizes(const std::vector<std::int64_t>& sizes);

  /// Worker i holds chunks i and 2p − 1 − i of 2p balanced chunks, so that causal attention's work is even.
  static Split zigzag(std::int64_t n, int p, std::int64_t unit = 1);

  /// A split from the intervals that each worker holds, in its local order: each index of [0, n) once.
  /// @throws Error naming the index that no worker holds or that is held twice, or the interval that leaves
  /// [0, n).
  static Split pieces(std::int64_t n, const std::vector<Intervals>& held);

  /// A split from the intervals that each worker needs, in its local order. They cover [0, n) and may
  /// overlap. A worker holds an index twice that it needs twice (around a periodic boundary).
  /// @throws Error naming the index that none holds, or the interval that leaves [0, n).
  static Split covering(std::int64_t n, const std::vector<Intervals>& needs);

  /// The split in which worker i holds what worker i − k holds here (mod p).
  Split rotated(int k) const;

  int workers() const;
  /// n, what the intervals cover.
  std::int64_t extent() const;
  /// True if two workers may hold the same index.
  bool overlaps() const;
  /// What a worker holds, in its local order.
  const Intervals& held(int worker) const;
  /// The indices that `worker` owns, each once, at their local indices: those that no worker before it holds.
  /// Cost: time linear in `worker` if intervals may overlap.
  Segments owned(int worker) const;
  /// The first interval that a worker holds; for splits where it is the only one.
  const Interval& operator[](int worker) const { return held(worker).at(0); }
  bool operator==(const Split& other) const;

 private:
  struct Impl;
  explicit Split(Impl impl);

  std::shared_ptr<const Impl> impl_;
};

/// The interval of one worker of Split::balanced(n, p, unit), without the others'; its arguments are not
/// checked.
Interval balanced_interval(std::int64_t n, int p, std::int64_t unit, int worker);

/// The split as text: sizes such as "3+0+4". If intervals overlap, are several or out of order,
/// "[0,4)+[2,7)".
std::string to_string(const Split& split);

}  // namespace riesz
