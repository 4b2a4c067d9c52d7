// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/partition/segments.h"

namespace riesz {

/// Which intervals of one dim each worker of one axis holds; a cheap, shared, immutable value. Disjoint and
/// covering [0, n), or, if it is `covering`, overlapping: then a worker that holds what another owns has a
/// copy of it (a halo).
class Split {
 public:
  /// p intervals of whole units of n; the first (n/unit) mod p of them have one unit more. Empty intervals
  /// where p > n/unit: balanced(7, 3) has sizes 3, 2, 2; balanced(6, 4, 2) has 2, 2, 2, 0.
  /// @throws Error unless unit divides n, n ≥ 0, p ≥ 1 and unit ≥ 1.
  static Split balanced(std::int64_t n, int p, std::int64_t unit = 1);

  /// Intervals of the given sizes: sizes({3, 0, 4}) is [0,3) [3,3) [3,7). @throws Error on a negative size.
  static Split sizes(const std::vector<std::int64_t>& sizes);

  /// Of 2p balanced chunks, worker i holds chunks i and 2p − 1 − i: causal attention's work is then even.
  static Split zigzag(std::int64_t n, int p, std::int64_t unit = 1);

  /// What each worker holds, in its local order, in any number of intervals: each index of [0, n) once.
  /// @throws Error naming the index that none holds or that is held twice, or the interval that leaves [0,
  /// n).
  static Split pieces(std::int64_t n, const std::vector<Intervals>& held);

  /// What each worker needs, in its local order; needs may overlap, and cover [0, n). An index that a worker
  /// needs twice (around a periodic boundary) it holds twice.
  /// @throws Error naming the index that none holds, or the interval that leaves [0, n).
  static Split covering(std::int64_t n, const std::vector<Intervals>& needs);

  /// Worker i holds what worker i − k held (mod p).
  Split rotated(int k) const;

  int workers() const;
  /// n, what the intervals cover.
  std::int64_t extent() const;
  /// May two workers hold the same index?
  bool overlaps() const;
  /// What a worker holds, in its local order.
  const Intervals& held(int worker) const;
  /// What it holds that no worker before it does, each index once, where it lies: an index's owner is the
  /// first that holds it. Cost: time linear in `worker` where intervals may overlap.
  Segments owned(int worker) const;
  /// held(worker) where it is one interval.
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

/// Such as "3+0+4"; "[0,4)+[2,7)" where intervals overlap, are several or out of order.
std::string to_string(const Split& split);

}  // namespace riesz
