// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/full.h>

#include <utility>

#include "riesz/nn/random/philox_words.h"
#include "riesz/nn/random/random.h"

namespace riesz {
namespace {

constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;

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
    Product first = product(kMultiplier0, c[0]), second = product(kMultiplier1, c[2]);
    c = {second.high.bitwise_xor(c[1]).bitwise_xor_(static_cast<std::int64_t>(key0)), std::move(second.low),
         first.high.bitwise_xor(c[3]).bitwise_xor_(static_cast<std::int64_t>(key1)), std::move(first.low)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  auto c0 = static_cast<std::uint32_t>(counter_low);
  auto c1 = static_cast<std::uint32_t>(counter_low >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_high);
  auto c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c0;
    const std::uint64_t product1 = kMultiplier1 * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

std::uint64_t philox_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return mix(hash + mix(seed + 0x9E3779B97F4A7C15));
}

}  // namespace riesz
