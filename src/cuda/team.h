// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/comm/kernels/mark.h"
#include "riesz/comm/kernels/stored.h"

// The team that computes a row on a GPU (nn/kernels/rows.h): a block of threads. What is here belongs to a
// GPU: indices, shuffles, shared memory.
namespace riesz::cuda {

/// Threads of a row's block: up to 4 elements a thread while the block may grow, and then more. `each_row` is
/// compiled for at most kMostOfRow threads: if it used more registers, a launch would fail.
inline constexpr int kLeastOfRow = 64, kMostOfRow = 512;
inline int threads_of_row(std::int64_t elements) {
  int threads = kLeastOfRow;
  while (threads < kMostOfRow && threads * 4 < elements) threads *= 2;
  return threads;
}

/// One element of a row, of one thread.
struct BlockPart {
  std::int64_t at;

  template <typename Number>
  __device__ __forceinline__ void load(const Number* row, float& x, float /*fill*/ = 0) const {
    x = kernels::widened(row[at]);
  }
  __device__ __forceinline__ void without_rest(float& /*x*/) const {}
  template <typename Number>
  __device__ __forceinline__ void store(const float& x, Number* row) const {
    row[at] = kernels::narrowed<Number>(x);
  }
};

/// A block of whole warps. It may have 1024 threads; rows have at most kMostOfRow. All its threads call each
/// function, and all get its result. Sums are added in an order that the block's size alone decides.
struct Block {
  using Numbers = float;

  static __device__ __forceinline__ std::int64_t width() { return blockDim.x; }
  static __device__ __forceinline__ std::int64_t near_elements() { return 16384; }
  static __device__ __forceinline__ BlockPart one(std::int64_t index) { return {index}; }
  static __device__ __forceinline__ void wait() { __syncthreads(); }

  /// A thread gets each width()-th element, so the same ones in every call from one `begin`.
  template <typename F>
  static __device__ __forceinline__ void each(std::int64_t begin, std::int64_t end, const F& f) {
    for (std::int64_t at = begin + threadIdx.x; at < end; at += blockDim.x) f(BlockPart{at});
  }

  template <int count, typename F>
  static __device__ __forceinline__ void sums(std::int64_t n, float (&results)[count], const F& f) {
    float all[count] = {};
    each(0, n, [&](auto part) {
      float terms[count];
      f(part, terms);
      for (int i = 0; i < count; ++i) all[i] += terms[i];
    });
    for (int i = 0; i < count; ++i) results[i] = sum(all[i]);
  }

  static __device__ __forceinline__ float first(const float& x) { return x; }
  static __device__ __forceinline__ float sum(const float& x) {
    return reduced(x, 0.0F, [](float a, float b) { return a + b; });
  }
  static __device__ __forceinline__ float greatest(const float& x) {
    // Of NaN and a number the number, in any order; and −0 is made 0. So all threads get the same bits.
    return reduced(x, -INFINITY, [](float a, float b) { return fmaxf(a, b); }) + 0.0F;
  }

 private:
  static constexpr int kWarp = 32;

  template <typename Combine>
  static __device__ __forceinline__ float in_warp(float x, const Combine& combine) {
    for (int apart = kWarp / 2; apart > 0; apart /= 2) x = combine(x, __shfl_xor_sync(~0U, x, apart));
    return x;
  }

  template <typename Combine>
  static __device__ __forceinline__ float reduced(float x, float neutral, const Combine& combine) {
    __shared__ float of_warps[kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    x = in_warp(x, combine);
    if (lane == 0) of_warps[warp] = x;
    __syncthreads();
    x = in_warp(lane < warps ? of_warps[lane] : neutral, combine);
    __syncthreads();  // before the next one writes
    return x;
  }
};

}  // namespace riesz::cuda
