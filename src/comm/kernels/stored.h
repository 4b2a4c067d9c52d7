// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "riesz/comm/kernels/mark.h"

// How numbers lie in memory, and the type in which they are computed with. Without LibTorch, so that device
// code compiles it. Rounding is to the nearest, ties to even. The formulas are those of
// nn/kernels/stored_numbers.h, which has them for lanes; tests compare all 2^16 numbers and all roundings.
namespace riesz::kernels {

/// Elements of bf16 and fp16, by their bits.
struct BFloat16 {
  std::uint16_t bits;
};
struct Half {
  std::uint16_t bits;
};

template <typename T>
inline constexpr bool kIsWide = std::is_same_v<T, float> || std::is_same_v<T, double>;
/// The type in which elements of type T are computed: fp32 for the half types, else T.
template <typename T>
using Wide = std::conditional_t<kIsWide<T>, T, float>;

RIESZ_ELEMENT std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
RIESZ_ELEMENT float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

RIESZ_ELEMENT float widened(float x) { return x; }
RIESZ_ELEMENT double widened(double x) { return x; }
RIESZ_ELEMENT float widened(BFloat16 x) { return float_of(static_cast<std::uint32_t>(x.bits) << 16); }
/// An fp16 is a float whose exponent is 112 less, or, below 2⁻¹⁴, a whole number of 2⁻²⁴.
RIESZ_ELEMENT float widened(Half x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16, twice = bits + bits;
  const float normal = float_of((twice >> 4) + (0xE0U << 23)) * 0x1.0p-112F;
  const float small = float_of((twice >> 17) | (126U << 23)) - 0.5F;
  return float_of((twice < (1U << 27) ? bits_of(small) : bits_of(normal)) | (bits & 0x80000000U));
}

RIESZ_ELEMENT BFloat16 bfloat16_of(float x) {
  const std::uint32_t bits = bits_of(x), rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  return {static_cast<std::uint16_t>(x == x ? rounded : 0x7FC0U)};
}
/// A number is added whose last place is fp16's, so that the processor rounds there.
RIESZ_ELEMENT Half half_of(float x) {
  const std::uint32_t bits = bits_of(x), twice = bits + bits;
  const std::uint32_t exponent = twice & 0xFF000000U, place = exponent < 0x71000000U ? 0x71000000U : exponent;
  const float scaled = float_of(bits & 0x7FFFFFFFU) * 0x1.0p+112F * 0x1.0p-110F;  // infinity beyond fp16
  const std::uint32_t sum = bits_of(float_of((place >> 1) + 0x07800000U) + scaled);
  const std::uint32_t number = ((sum >> 13) & 0x7C00U) + (sum & 0xFFFU);
  const std::uint32_t known = twice > 0xFF000000U ? 0x7E00U : number;
  return {static_cast<std::uint16_t>(known | ((bits & 0x80000000U) >> 16))};
}

/// x, rounded once to T.
template <typename T>
RIESZ_ELEMENT T narrowed(Wide<T> x) {
  if constexpr (kIsWide<T>)
    return x;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bfloat16_of(x);
  else
    return half_of(x);
}

}  // namespace riesz::kernels
