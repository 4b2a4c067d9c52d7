// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "riesz/comm/kernels/stored.h"
#include "riesz/nn/vectors/lanes.h"

// How numbers lie in memory, in fp32, bf16 or fp16, and how a vector of them becomes one of fp32 and back.
// Rounding is to the nearest, ties to even, as LibTorch rounds.

namespace riesz::detail {

/// Number of lanes of a vector of floats.
template <typename Vector>
constexpr std::int64_t kLanesOf = sizeof(Vector) / sizeof(float);

/// The bits of a vector's lanes.
template <typename Vector>
struct BitsOf;
template <>
struct BitsOf<Lanes> {
  using Type = std::uint32_t __attribute__((vector_size(sizeof(Lanes))));
  using Halves = std::uint16_t __attribute__((vector_size(sizeof(Lanes) / 2)));
};
template <>
struct BitsOf<HalfLanes> {
  using Type = std::uint32_t __attribute__((vector_size(sizeof(HalfLanes))));
  using Halves = std::uint16_t __attribute__((vector_size(sizeof(HalfLanes) / 2)));
};

template <typename Vector>
inline __attribute__((always_inline)) void load(const kernels::BFloat16* from, Vector& to) {
  using Bits = BitsOf<Vector>;
  typename Bits::Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  to = (Vector)(__builtin_convertvector(halves, typename Bits::Type) << 16);
}

template <typename Vector>
inline __attribute__((always_inline)) void store(const Vector& from, kernels::BFloat16* to) {
  using Bits = BitsOf<Vector>;
  const auto bits = (typename Bits::Type)from;
  const auto rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const auto halves =
      __builtin_convertvector(from == from ? rounded : rounded * 0 + 0x7FC0U, typename Bits::Halves);
  std::memcpy(to, &halves, sizeof halves);
}

/// An fp16 is a float whose exponent is 112 less, or, below 2⁻¹⁴, a whole number of 2⁻²⁴.
template <typename Vector>
inline __attribute__((always_inline)) void load(const kernels::Half* from, Vector& to) {
  using Bits = BitsOf<Vector>;
  typename Bits::Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const auto bits = __builtin_convertvector(halves, typename Bits::Type) << 16;
  const auto twice = bits + bits;  // without the sign
  const auto normal = (Vector)((twice >> 4) + (0xE0U << 23)) * 0x1.0p-112F;
  const auto small = (Vector)((twice >> 17) | (126U << 23)) - 0.5F;
  const auto size = twice < (1U << 27) ? (typename Bits::Type)small : (typename Bits::Type)normal;
  to = (Vector)(size | (bits & 0x80000000U));
}

/// A number is added whose last place is fp16's, so that the processor rounds there.
template <typename Vector>
inline __attribute__((always_inline)) void store(const Vector& from, kernels::Half* to) {
  using Bits = BitsOf<Vector>;
  const auto bits = (typename Bits::Type)from;
  const auto size = (Vector)(bits & 0x7FFFFFFFU);
  const auto twice = bits + bits;
  auto place = twice & 0xFF000000U;
  place = place < 0x71000000U ? place * 0 + 0x71000000U : place;
  const Vector scaled = size * 0x1.0p+112F * 0x1.0p-110F;  // infinity of what fp16 has not
  const auto sum = (typename Bits::Type)((Vector)((place >> 1) + 0x07800000U) + scaled);
  const auto number = ((sum >> 13) & 0x7C00U) + (sum & 0xFFFU);
  const auto known = twice > 0xFF000000U ? number * 0 + 0x7E00U : number;
  const auto halves = __builtin_convertvector(known | ((bits & 0x80000000U) >> 16), typename Bits::Halves);
  std::memcpy(to, &halves, sizeof halves);
}

}  // namespace riesz::detail
