// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/convert.h"

#include <algorithm>
#include <type_traits>

#include "riesz/comm/error.h"
#include "riesz/nn/kernels/lane_math.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace riesz::detail {
namespace {

/// Calls f with a null pointer to `type`.
template <typename F>
void with_type(at::ScalarType type, const F& f) {
  switch (type) {
    case at::kDouble:
      return f(static_cast<double*>(nullptr));
    case at::kFloat:
      return f(static_cast<float*>(nullptr));
    case at::kBFloat16:
      return f(static_cast<at::BFloat16*>(nullptr));
    case at::kHalf:
      return f(static_cast<at::Half*>(nullptr));
    default:
      RIESZ_CHECK(false, "no strips of ", type);
  }
}

template <typename From, typename To>
RIESZ_ELEMENT void convert(const From* from, std::int64_t n, To* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>)
      to[i] = static_cast<To>(from[i]);
    else
      to[i] = static_cast<To>(static_cast<float>(from[i]));
  }
}

RIESZ_ELEMENT void rounded_to_bfloat16(const float* from, std::int64_t n, at::BFloat16* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + i, sizeof(bits));
    const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    to[i].x = static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? 0x7FC0U : rounded);
  }
}

template <typename T>
RIESZ_ELEMENT void add_each(const T* from, std::int64_t n, double* sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(from[i]);
}

// One function of a line for each processor.
#define RIESZ_EACH(suffix, target)                                                 \
  template <typename From, typename To>                                            \
  target void convert_##suffix(const From* from, std::int64_t n, To* to) {         \
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, at::BFloat16>) \
      rounded_to_bfloat16(from, n, to);                                            \
    else                                                                           \
      convert(from, n, to);                                                        \
  }                                                                                \
  template <typename T>                                                            \
  target void add_##suffix(const T* from, std::int64_t n, double* sums) {          \
    add_each(from, n, sums);                                                       \
  }
RIESZ_EACH(plainly, )
RIESZ_EACH(by_avx2, RIESZ_FOR_AVX2)
RIESZ_EACH(by_avx512, RIESZ_FOR_AVX512)
#undef RIESZ_EACH

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void from_half(const at::Half* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  convert(from + i, n - i, to + i);
}
__attribute__((target("avx,f16c"))) void to_half(const float* from, std::int64_t n, at::Half* to) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
  convert(from + i, n - i, to + i);
}
bool has_halves() {
  static const bool has = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
#endif

template <typename From, typename To>
void converted(const From* from, std::int64_t n, To* to) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<From, at::Half> && std::is_same_v<To, float>)
    if (has_halves()) return from_half(from, n, to);
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, at::Half>)
    if (has_halves()) return to_half(from, n, to);
#endif
  using Kernel = void (*)(const From*, std::int64_t, To*);
  static const auto kernel = for_this_processor<Kernel>(convert_plainly<From, To>, convert_by_avx2<From, To>,
                                                        convert_by_avx512<From, To>);
  kernel(from, n, to);
}

}  // namespace

bool is_real_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf;
}

template <typename T>
void read_as(at::ScalarType type, const void* from, std::int64_t stride, std::int64_t n, T* to) {
  with_type(type, [&](auto* of_type) {
    using From = std::remove_pointer_t<decltype(of_type)>;
    const auto* x = static_cast<const From*>(from);
    if (stride == 1) return converted(x, n, to);
    if (stride == 0) {
      convert(x, 1, to);
      std::fill(to + 1, to + n, to[0]);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) convert(x + i * stride, 1, to + i);
  });
}

template <typename T>
void write_as(at::ScalarType type, const T* from, std::int64_t n, void* to) {
  with_type(type, [&](auto* of_type) {
    converted(from, n, static_cast<std::remove_pointer_t<decltype(of_type)>*>(to));
  });
}

template <typename T>
void add_to(const T* from, std::int64_t n, double* sums) {
  using Kernel = void (*)(const T*, std::int64_t, double*);
  static const auto kernel = for_this_processor<Kernel>(add_plainly<T>, add_by_avx2<T>, add_by_avx512<T>);
  kernel(from, n, sums);
}

template void read_as(at::ScalarType, const void*, std::int64_t, std::int64_t, float*);
template void read_as(at::ScalarType, const void*, std::int64_t, std::int64_t, double*);
template void write_as(at::ScalarType, const float*, std::int64_t, void*);
template void write_as(at::ScalarType, const double*, std::int64_t, void*);
template void add_to(const float*, std::int64_t, double*);
template void add_to(const double*, std::int64_t, double*);

}  // namespace riesz::detail
