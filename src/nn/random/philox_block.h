// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/comm/kernels/mark.h"

namespace riesz::detail {

/// The four words of a block of draws.
struct PhiloxBlock {
  std::uint32_t word[4];
};

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53, kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;

/// Philox4x32-10 of key and counter (`philox` in random.h).
RIESZ_ELEMENT PhiloxBlock philox_block(std::uint64_t key, std::uint64_t counter_low,
                                       std::uint64_t counter_high) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  auto c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * c0;
    const std::uint64_t product1 = std::uint64_t{kPhiloxMultiplier1} * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key0;
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace riesz::detail
