// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/sum/kernels.h"

#include <c10/util/Half.h>

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define RIESZ_F16C
#endif

// The loader picks a version before a sanitizer is ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
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
  /// What a store past the caches takes.
  typedef T Part __attribute__((vector_size(16), aligned(1), may_alias));
};

/// Where elements go: from `at` on of each of `outs`.
template <typename T>
struct Places {
  std::span<std::byte* const> outs;
  std::int64_t at;

  T* begin(std::size_t k) const { return reinterpret_cast<T*>(outs[k]) + at; }
};

template <typename T>
inline __attribute__((always_inline)) void add_one(const T* a, const T* b, const Places<T>& to,
                                                   std::int64_t i) {
  const T sum = a[i] + b[i];
  for (std::size_t k = 0; k < to.outs.size(); ++k) to.begin(k)[i] = sum;
}

template <typename T>
inline __attribute__((always_inline)) void add_lines(const T* a, const T* b, const Places<T>& to,
                                                     std::int64_t count) {
  using Vector = typename Line<T>::Vector;
  std::int64_t i = 0;
  for (; i + Line<T>::kElements <= count; i += Line<T>::kElements) {
    const Vector sum = *reinterpret_cast<const Vector*>(a + i) + *reinterpret_cast<const Vector*>(b + i);
    for (std::size_t k = 0; k < to.outs.size(); ++k) *reinterpret_cast<Vector*>(to.begin(k) + i) = sum;
  }
  for (; i < count; ++i) add_one(a, b, to, i);
}

RIESZ_WIDEST void add_in_caches(const float* a, const float* b, const Places<float>& to, std::int64_t count) {
  add_lines(a, b, to, count);
}
RIESZ_WIDEST void add_in_caches(const double* a, const double* b, const Places<double>& to,
                                std::int64_t count) {
  add_lines(a, b, to, count);
}

#ifdef __SSE2__
/// Elements in front of the first whole line of every out; −1 where they differ in that.
template <typename T>
std::int64_t before_lines(const Places<T>& to) {
  const auto in_front = [&](std::size_t k) {
    return static_cast<std::int64_t>((64 - reinterpret_cast<std::uintptr_t>(to.begin(k)) % 64) % 64 /
                                     sizeof(T));
  };
  for (std::size_t k = 1; k < to.outs.size(); ++k) {
    if (in_front(k) != in_front(0)) return -1;
  }
  return in_front(0);
}

/// Whole lines, to each out in turn: half-written ones would go to memory twice.
template <typename T>
void add_past_caches(const T* a, const T* b, const Places<T>& to, std::int64_t count) {
  using Part = typename Line<T>::Part;
  const std::int64_t before = before_lines(to);
  if (before < 0) return add_in_caches(a, b, to, count);
  std::int64_t i = 0;
  for (; i < std::min(before, count); ++i) add_one(a, b, to, i);
  for (; i + Line<T>::kElements <= count; i += Line<T>::kElements) {
    const auto* x = reinterpret_cast<const Part*>(a + i);
    const auto* y = reinterpret_cast<const Part*>(b + i);
    const Part sum[] = {x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]};
    for (std::size_t k = 0; k < to.outs.size(); ++k) {
      auto* line = reinterpret_cast<__m128i*>(to.begin(k) + i);
      for (int j = 0; j < 4; ++j) _mm_stream_si128(line + j, reinterpret_cast<const __m128i&>(sum[j]));
    }
  }
  for (; i < count; ++i) add_one(a, b, to, i);
}
#endif

template <typename T>
void add_to_all(const T* a, const T* b, const Places<T>& to, std::int64_t count, bool past) {
#ifdef __SSE2__
  if (past) return add_past_caches(a, b, to, count);
#endif
  static_cast<void>(past);
  add_in_caches(a, b, to, count);
}

}  // namespace

void add(const float* a, const float* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past) {
  add_to_all(a, b, Places<float>{outs, at}, count, past);
}

void add(const double* a, const double* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past) {
  add_to_all(a, b, Places<double>{outs, at}, count, past);
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

// Both return how many they have done, eights at a time.
#ifdef RIESZ_F16C
namespace {

bool has_f16c() {
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}

__attribute__((target("avx,f16c"))) std::int64_t widen_eights(const Half* x, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  return i;
}

__attribute__((target("avx,f16c"))) std::int64_t narrow_eights(const float* x, Half* out,
                                                               std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), eight);
  }
  return i;
}

}  // namespace
#else
namespace {

bool has_f16c() { return false; }
std::int64_t widen_eights(const Half*, float*, std::int64_t) { return 0; }
std::int64_t narrow_eights(const float*, Half*, std::int64_t) { return 0; }

}  // namespace
#endif

void widen(const Half* x, float* out, std::int64_t count) {
  std::int64_t i = has_f16c() ? widen_eights(x, out, count) : 0;
  for (; i < count; ++i) out[i] = c10::Half(x[i].bits, c10::Half::from_bits());
}

void narrow(const float* x, Half* out, std::int64_t count) {
  std::int64_t i = has_f16c() ? narrow_eights(x, out, count) : 0;
  for (; i < count; ++i) out[i].bits = c10::Half(x[i]).x;
}

void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) {
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

void fetch_to_read(const std::byte* address) { __builtin_prefetch(address, 0); }

#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
void fetch_to_write(std::byte* address) {
  __builtin_prefetch(address, 1);
}

void relax() {
#ifdef __SSE2__
  _mm_pause();
#endif
}

void fence_nontemporal() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace riesz::kernels
