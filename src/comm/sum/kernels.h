// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "riesz/comm/kernels/stored.h"

/// Sums of a block of elements, for the widest SIMD registers of the processor at hand. Private to src/comm.
namespace riesz::kernels {

/// out = a + b; out may be a or b.
void add(const float* a, const float* b, float* out, std::int64_t count);
void add(const double* a, const double* b, double* out, std::int64_t count);
/// Writes a + b, `count` elements, into each of `outs` from element `at` on. `past`: bypasses the caches. One
/// of the places written may be a, and one b.
void add(const float* a, const float* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past);
void add(const double* a, const double* b, std::span<std::byte* const> outs, std::int64_t at,
         std::int64_t count, bool past);

/// `widen` makes fp32 of elements of bf16 or fp16; `narrow` rounds fp32 to the nearest, ties to even.
void widen(const BFloat16* x, float* out, std::int64_t count);
void widen(const Half* x, float* out, std::int64_t count);
void narrow(const float* x, BFloat16* out, std::int64_t count);
void narrow(const float* x, Half* out, std::int64_t count);

/// From this many bytes on, copies and sums within a process bypass the caches.
inline constexpr std::int64_t kNontemporalFrom = std::int64_t{3} << 20;

/// A copy with non-temporal stores, which bypass the caches.
void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes);
/// Makes earlier non-temporal stores visible to other processors before later stores.
void fence_nontemporal();
/// Fetches the line of memory at `address` into the cache meanwhile, to read it or to write it.
void fetch_to_read(const std::byte* address);
void fetch_to_write(std::byte* address);
/// Relaxes this core in a loop that waits for another.
void relax();

}  // namespace riesz::kernels
