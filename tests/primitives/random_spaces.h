// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::testing {

/// Random grids, shapes and spaces, alike on every worker for one seed.
class RandomSpaces {
 public:
  explicit RandomSpaces(std::uint64_t seed) : random_(seed) {}

  /// A number of 0 … count − 1.
  int any_of(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }

  /// These workers on one to three axes.
  Partition grid(const Partition& workers);

  /// A space without axes placed yet: one to three dims of zero to six units of one or two elements.
  Space shape(const Partition& grid);

  /// The space with each axis, in any order, on a dim or placed as one of `kinds`; now and then with sizes of
  /// its own.
  Space place(const Space& X, const std::vector<Placement>& kinds);

  /// Some of these workers, or all, in any order.
  Partition some_of(const Partition& workers);

  /// Any split without overlaps: balanced, sizes with zeros among them, zigzag, on rotated owners or not.
  Split split(std::int64_t n, int p, std::int64_t unit = 1);

  /// Needs that overlap and cover: up to two intervals of whole units a worker, in any order, also the same
  /// twice, now and then none.
  Split covering(std::int64_t n, int p, std::int64_t unit = 1);

  /// The space with each axis, in any order, on a dim or placed as one of `kinds`; dims split in any way,
  /// with overlaps (as copies, or, where `terms`, as either) or without.
  Space lay_out(const Space& X, const std::vector<Placement>& kinds, bool terms);

  /// The space with every axis, in any order, on a dim; with splits that overlap, as copies, if `overlaps`.
  Space shard_all(const Space& X, bool overlaps);

 private:
  template <typename Item>
  void shuffle(std::vector<Item>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(any_of(static_cast<int>(i)))]);
  }

  std::mt19937_64 random_;
};

/// Spaces of any kind, on one partition or on two, as the worker `me` of `workers` simulated ones has them;
/// by the seed.
std::pair<Space, Space> random_ends(std::uint64_t seed, int workers, int me);

}  // namespace riesz::testing
