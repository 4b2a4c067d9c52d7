// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

// A kernel is written once, always inline, in Lanes, and compiled for each of the processors below by a
// function of one line; `for_this_processor` chooses where it runs.
#if defined(__x86_64__)
#define RIESZ_FOR_AVX2 __attribute__((target("avx2,fma")))
#define RIESZ_FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#else
#define RIESZ_FOR_AVX2
#define RIESZ_FOR_AVX512
#endif

// Compilers of device code have no such vectors: there a thread computes with one float.
#if !defined(__CUDACC__)
namespace riesz::detail {

/// Number of floats computed at once; on processors with narrower registers, one part after another.
constexpr std::int64_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

/// Number of floats in a register of AVX2. With AVX2, g++ 12 keeps wider vectors in memory between
/// operations: a sum over a loop is five times as fast in these. With AVX-512 several of these are as fast.
constexpr std::int64_t kHalfLanes = kLanes / 2;
using HalfLanes = float __attribute__((vector_size(kHalfLanes * sizeof(float))));

template <typename Vector>
inline __attribute__((always_inline)) void load(const float* from, Vector& to) {
  std::memcpy(&to, from, sizeof(Vector));
}

template <typename Vector>
inline __attribute__((always_inline)) void store(const Vector& from, float* to) {
  std::memcpy(to, &from, sizeof(Vector));
}

inline __attribute__((always_inline)) float sum_of(const HalfLanes& lanes) {
  const auto sum =
      __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3) + __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

inline __attribute__((always_inline)) float sum_of(const Lanes& lanes) {
  const HalfLanes half = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
                         __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return sum_of(half);
}

/// The registers that kernels are computed in.
enum class Registers { plain, avx2, avx512 };

/// The widest that this processor has, or fewer where the environment variable RIESZ_LANES says plain, avx2
/// or avx512: kernels then have the same bits on all processors of a job. Read once.
/// @throws Error where RIESZ_LANES is something else, or wider than this processor's.
Registers registers();

/// Chooses one of a kernel's functions: for any processor, with AVX2, or with AVX-512.
template <typename Kernel>
Kernel for_this_processor(Kernel any, Kernel avx2, Kernel avx512) {
  switch (registers()) {
    case Registers::avx512:
      return avx512;
    case Registers::avx2:
      return avx2;
    case Registers::plain:
      break;
  }
  return any;
}

}  // namespace riesz::detail
#endif
