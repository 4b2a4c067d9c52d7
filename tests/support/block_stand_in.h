// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

namespace riesz::testing {

/// Calls `f` once for each thread of a block of a GPU, one after another in this thread, and comes back when
/// all have ended. A warp goes on alone until all its 32 threads wait for the block; then another one does,
/// in an order drawn from `seed`. So what is read before the block has waited is often seen to be wrong, and
/// not at every seed. Within a warp no two threads race, and no memory is late or too small.
/// @throws Error if threads of a warp call different functions, or some of a block end while others wait.
void run_block(int threads, std::uint64_t seed, const std::function<void()>& f);

// What CUDA gives a thread of a block.
struct BlockIndex {
  unsigned x;
};
/// This thread's number, and how many there are.
BlockIndex thread_of_block();
BlockIndex size_of_block();
/// __syncthreads and __shfl_xor_sync.
void wait_for_block();
float of_other_lane(float x, int apart);

}  // namespace riesz::testing

// The team of a GPU's kernels, for the stand-in.
#define __device__
#define __forceinline__ inline
#define __shared__ static thread_local
#define threadIdx (::riesz::testing::thread_of_block())
#define blockDim (::riesz::testing::size_of_block())
#define __syncthreads() ::riesz::testing::wait_for_block()
#define __shfl_xor_sync(mask, x, apart) ::riesz::testing::of_other_lane(x, apart)
#include "riesz/cuda/team.h"
#undef __device__
#undef __forceinline__
#undef __shared__
#undef threadIdx
#undef blockDim
#undef __syncthreads
#undef __shfl_xor_sync
