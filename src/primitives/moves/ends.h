// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::primitives {

/// A set of placements.
class Placements {
 public:
  constexpr Placements() = default;
  constexpr Placements(std::initializer_list<Placement> some) {
    for (const Placement each : some) bits_ |= bit(each);
  }
  constexpr bool has(Placement placement) const { return (bits_ & bit(placement)) != 0; }
  friend constexpr Placements operator|(Placements a, Placements b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr unsigned bit(Placement placement) { return 1U << static_cast<unsigned>(placement); }
  unsigned bits_ = 0;
};

/// True if the spaces are equal, axes of one worker aside. Then each worker holds the same in both.
bool equivalent(const Space& X, const Space& Y);

/// True if the same axes shard the same dims in the same way, axes of one worker aside.
bool same_sharding(const Space& X, const Space& Y);

/// Checks a primitive's two spaces. They must be on one partition, of one shape, and each axis is given once.
/// On every axis of `axes`, the domain is placed as one of `from` and the range as one of `to`. These axes
/// are the minor-most of the dims that they shard; the other axes stay as they are.
/// @throws Error naming both spaces
void check_ends(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes,
                Placements from, Placements to);

}  // namespace riesz::primitives
