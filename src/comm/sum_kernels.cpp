// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/sum_kernels.h"

#include <c10/util/Half.h>

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// The loader picks a version before a sanitizer is ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define RIESZ_WIDEST __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define RIESZ_WIDEST
#endif

namespace riesz::kernels {

RIESZ_WIDEST void add(const float* a, const float* b, float* out, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

RIESZ_WIDEST void add(const double* a, const double* b, double* out, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

RIESZ_WIDEST void widen(const BFloat16* x, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(x[i].bits) << 16;
    __builtin_memcpy(out + i, &bits, sizeof bits);
  }
}

RIESZ_WIDEST void narrow(const float* x, BFloat16* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
    const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    out[i].bits = static_cast<std::uint16_t>(nan ? 0x7FC0U : rounded);
  }
}

void widen(const Half* x, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = c10::Half(x[i].bits, c10::Half::from_bits());
}

void narrow(const float* x, Half* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i].bits = c10::Half(x[i]).x;
}

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  const std::size_t before = std::min(bytes, (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64);
  std::memcpy(to, from, before);
  std::size_t at = before;
  for (; at + 64 <= bytes; at += 64) {
    const auto* x = reinterpret_cast<const __m128i*>(from + at);
    auto* y = reinterpret_cast<__m128i*>(to + at);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(y + i, _mm_loadu_si128(x + i));
  }
  std::memcpy(to + at, from + at, bytes - at);
#else
  std::memcpy(to, from, bytes);
#endif
}

void relax() {
#ifdef __SSE2__
  _mm_pause();
#endif
}

void finish_streams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace riesz::kernels
