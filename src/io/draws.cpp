// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/draws.h"

#include <numeric>
#include <utility>

#include "riesz/nn/random/random.h"

namespace riesz {

Draws::Draws(std::uint64_t seed, std::string_view name, std::uint64_t stream)
    : key_(philox_key(seed, name)), stream_(stream) {}

std::uint64_t Draws::bits() {
  const auto words = philox(key_, next_ / 2, stream_);
  const std::size_t half = 2 * (next_++ % 2);
  return std::uint64_t{words[half]} << 32 | words[half + 1];
}

std::uint64_t Draws::below(std::uint64_t n) {
  const std::uint64_t excess = (0 - n) % n;  // 2^64 mod n: the draws below it would favour small results
  std::uint64_t draw = bits();
  while (draw < excess) draw = bits();
  return draw % n;
}

double Draws::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

std::vector<std::int64_t> permutation(std::int64_t n, Draws draws) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  return order;
}

}  // namespace riesz
