// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Sums of a block of elements, for the widest vectors of the processor at hand. Private to this room.
namespace riesz::kernels {

/// out = a + b; out may be a or b.
void add(const float* a, const float* b, float* out, std::int64_t count);
void add(const double* a, const double* b, double* out, std::int64_t count);
/// a + b, `count` elements, into each of `outs` from the element `at` of its on; past the caches if said so.
/// Of the places so written one may be a, and one b.
void add(const float* a, const float* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past);
void add(const double* a, const double* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past);

/// bf16 and fp16, by their bits, to fp32 and back, rounded to the nearest even.
struct BFloat16 {
  std::uint16_t bits;
};
struct Half {
  std::uint16_t bits;
};
void widen(const BFloat16* x, float* out, std::int64_t count);
void widen(const Half* x, float* out, std::int64_t count);
void narrow(const float* x, BFloat16* out, std::int64_t count);
void narrow(const float* x, Half* out, std::int64_t count);

/// Bytes from which on what is written goes past the caches.
inline constexpr std::int64_t kPastTheCaches = std::int64_t{3} << 20;

/// A copy past the caches.
void stream(std::byte* to, const std::byte* from, std::size_t bytes);
/// What was streamed is there for other processors before what is stored after this.
void finish_streams();
/// In a loop that waits for another processor.
void relax();

}  // namespace riesz::kernels
