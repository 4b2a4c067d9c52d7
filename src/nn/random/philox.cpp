// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/full.h>

#include <utility>

#include "riesz/nn/random/philox_block.h"
#include "riesz/nn/random/philox_words.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

/// SplitMix64's finaliser: every bit of x reaches every bit of the result.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

constexpr std::int64_t kWord = 0xFFFFFFFF;

/// The words of a product, of 64 bits.
struct Product {
  at::Tensor high, low;
};

/// Of a multiplier of 2³¹ or more and words in int64. Less 2³² it is negative, and no product of it
/// overflows; the words are what is then missing in the high ones.
Product product(std::uint64_t multiplier, const at::Tensor& words) {
  const at::Tensor rest = words.mul(static_cast<std::int64_t>(multiplier) - kWord - 1);
  return {rest.bitwise_right_shift(32).add_(words), rest.bitwise_and(kWord)};
}

}  // namespace

detail::PhiloxWords detail::philox_words(std::uint64_t key, const at::Tensor& counter_low,
                                         std::uint64_t counter_high) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  const auto word = [&](std::uint64_t value) {
    return at::full({}, static_cast<std::int64_t>(value), counter_low.options());
  };
  PhiloxWords c{counter_low.bitwise_and(kWord), counter_low.bitwise_right_shift(32),
                word(counter_high & kWord), word(counter_high >> 32)};
  for (int round = 0; round < 10; ++round) {
    Product first = product(kPhiloxMultiplier0, c[0]), second = product(kPhiloxMultiplier1, c[2]);
    c = {second.high.bitwise_xor(c[1]).bitwise_xor_(static_cast<std::int64_t>(key0)), std::move(second.low),
         first.high.bitwise_xor(c[3]).bitwise_xor_(static_cast<std::int64_t>(key1)), std::move(first.low)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return c;
}

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) {
  const detail::PhiloxBlock drawn = detail::philox_block(key, counter_low, counter_high);
  return {drawn.word[0], drawn.word[1], drawn.word[2], drawn.word[3]};
}

std::uint64_t philox_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return mix(hash + mix(seed + 0x9E3779B97F4A7C15));
}

}  // namespace riesz
