// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/seeded_permutation.h"

#include <bit>

#include "riesz/comm/error.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

/// Each changes one half by the other; so many that few numbers too come in all orders alike.
constexpr std::uint64_t kRounds = 12;

std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

}  // namespace

SeededPermutation::SeededPermutation(std::int64_t n, std::uint64_t seed, std::string_view name,
                                     std::uint64_t stream)
    : size_(static_cast<std::uint64_t>(n)), key_(philox_key(seed, name)), stream_(stream) {
  RIESZ_CHECK(n >= 1, "SeededPermutation: of ", n, " numbers; it must be 1 or more");
  const auto bits = static_cast<int>(std::bit_width(size_ - 1));
  low_bits_ = (bits + 1) / 2;
  high_bits_ = bits - low_bits_;
}

std::uint64_t SeededPermutation::mixed(std::uint64_t number) const {
  std::uint64_t low = number & mask(low_bits_);
  std::uint64_t high = number >> low_bits_;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t from = round % 2 == 0 ? low : high;
    const auto words = philox(key_, from << 4 | round, stream_);
    const std::uint64_t word = std::uint64_t{words[0]} << 32 | words[1];
    if (round % 2 == 0)
      high ^= word & mask(high_bits_);
    else
      low ^= word & mask(low_bits_);
  }
  return high << low_bits_ | low;
}

std::int64_t SeededPermutation::at(std::int64_t place) const {
  RIESZ_CHECK(place >= 0 && place < size(), "SeededPermutation: place ", place, " of ", size());
  auto number = static_cast<std::uint64_t>(place);
  do number = mixed(number);
  while (number >= size_);
  return static_cast<std::int64_t>(number);
}

}  // namespace riesz
