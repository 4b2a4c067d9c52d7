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

namespace {

/// A cache's line of T, at any address.
template <typename T>
struct Line {
  static constexpr std::int64_t kElements = 64 / sizeof(T);
  typedef T Vector __attribute__((vector_size(64), aligned(1), may_alias));
};

template <typename T>
inline __attribute__((always_inline)) void add_lines(const T* a, const T* b, std::span<T* const> outs,
                                                     std::int64_t count) {
  using Vector = typename Line<T>::Vector;
  std::int64_t i = 0;
  for (; i + Line<T>::kElements <= count; i += Line<T>::kElements) {
    const Vector sum = *reinterpret_cast<const Vector*>(a + i) + *reinterpret_cast<const Vector*>(b + i);
    for (T* out : outs) *reinterpret_cast<Vector*>(out + i) = sum;
  }
  for (; i < count; ++i) {
    const T sum = a[i] + b[i];
    for (T* out : outs) out[i] = sum;
  }
}

RIESZ_WIDEST void add_in_caches(const float* a, const float* b, std::span<float* const> outs,
                                std::int64_t count) {
  add_lines(a, b, outs, count);
}
RIESZ_WIDEST void add_in_caches(const double* a, const double* b, std::span<double* const> outs,
                                std::int64_t count) {
  add_lines(a, b, outs, count);
}

#ifdef __SSE2__
void stream_line(const void* sum, void* out) {
  const auto* from = static_cast<const __m128i*>(sum);
  auto* to = static_cast<__m128i*>(out);
  for (int j = 0; j < 4; ++j) _mm_stream_si128(to + j, _mm_load_si128(from + j));
}

/// Whole lines, to each out in turn: half-written ones would go to memory twice.
template <typename T>
void add_past_caches(const T* a, const T* b, std::span<T* const> outs, std::int64_t count) {
  const auto misplaced = [](const T* out) { return reinterpret_cast<std::uintptr_t>(out) % 64; };
  const std::uintptr_t first = misplaced(outs.front());
  const bool alike = std::all_of(outs.begin(), outs.end(), [&](T* out) { return misplaced(out) == first; });
  if (!alike) return add_in_caches(a, b, outs, count);
  const std::int64_t before = std::min(count, static_cast<std::int64_t>((64 - first) % 64 / sizeof(T)));
  add_lines(a, b, outs, before);
  std::int64_t i = before;
  for (; i + Line<T>::kElements <= count; i += Line<T>::kElements) {
    using Vector = typename Line<T>::Vector;
    alignas(64) const Vector sum =
        *reinterpret_cast<const Vector*>(a + i) + *reinterpret_cast<const Vector*>(b + i);
    for (T* out : outs) stream_line(&sum, out + i);
  }
  for (; i < count; ++i) {
    const T sum = a[i] + b[i];
    for (T* out : outs) out[i] = sum;
  }
}
#endif

template <typename T>
void add_to_all(const T* a, const T* b, std::span<T* const> outs, std::int64_t count, bool past) {
#ifdef __SSE2__
  if (past) return add_past_caches(a, b, outs, count);
#endif
  static_cast<void>(past);
  add_in_caches(a, b, outs, count);
}

}  // namespace

void add(const float* a, const float* b, std::span<float* const> outs, std::int64_t count, bool past) {
  add_to_all(a, b, outs, count, past);
}

void add(const double* a, const double* b, std::span<double* const> outs, std::int64_t count, bool past) {
  add_to_all(a, b, outs, count, past);
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
