// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace riesz {

/// The order of training over one or several sources: it computes the sequence at each place from the place
/// alone. Among the first p places, for any p, a source has its share, to within the number of sources. A
/// source gives each of its sequences once, in an order of its own, then all again in another order. So **the
/// place in the data is one number**. Training that is resumed from it, at any layout, sees the same
/// sequences as without the break.
class Mixture {
 public:
  struct Drawn {
    std::size_t source;
    std::int64_t sequence;
    std::int64_t epoch;  ///< how many times the source was given whole before

    bool operator==(const Drawn&) const = default;
  };

  /// `sizes`: numbers of sequences of each source. `weights`: their shares, which need not sum to 1; empty:
  /// in proportion to the sizes. @throws Error unless there is a weight > 0 for each source, and each has a
  /// sequence.
  Mixture(std::vector<std::int64_t> sizes, const std::vector<double>& weights, std::uint64_t seed);

  /// The sequence at a place, counted from 0, up to 2³⁹.
  Drawn at(std::int64_t place) const;
  /// The number of places before this one that a source has.
  std::int64_t drawn_before(std::int64_t place, std::size_t source) const;

 private:
  std::int64_t taken(std::size_t source, std::int64_t of) const;

  std::vector<std::int64_t> sizes_;
  std::vector<std::uint64_t> shares_;  // of what the sources before leave, in 2⁻²⁴
  std::uint64_t seed_;
};

}  // namespace riesz
