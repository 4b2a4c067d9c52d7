// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace riesz {

/// The integers of [0, n) in an order that (seed, name, stream) decide; each place is computed by itself. So
/// the order of an epoch takes no memory, and any place of it is known at once. It is a Feistel network of
/// Philox's words over the least power of two that holds n. Numbers outside [0, n) go round again (Black and
/// Rogaway, 2002), less than twice on average.
class SeededPermutation {
 public:
  /// @throws Error unless n ≥ 1.
  SeededPermutation(std::int64_t n, std::uint64_t seed, std::string_view name, std::uint64_t stream = 0);

  std::int64_t size() const { return static_cast<std::int64_t>(size_); }
  /// The number at a place: a bijection of [0, n).
  std::int64_t at(std::int64_t place) const;

 private:
  std::uint64_t mixed(std::uint64_t number) const;

  std::uint64_t size_;
  std::uint64_t key_;
  std::uint64_t stream_;
  int low_bits_;
  int high_bits_;
};

}  // namespace riesz
