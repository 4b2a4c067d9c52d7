// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "riesz/nn/vectors/lanes.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define RIESZ_MULTIPLIES_WORDS 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"                // all is part of a kernel that has such vectors
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 loses sight of arrays of vectors
#endif

namespace riesz::detail {

/// Lanes of 64 bits: a word each in the low halves. The high halves may hold anything.
using TwoWords = std::uint64_t __attribute__((vector_size(16)));
using FourWords = std::uint64_t __attribute__((vector_size(32)));
using EightWords = std::uint64_t __attribute__((vector_size(64)));

/// The 64 bits of the products of words. The processor has an instruction for that, which g++ 12 does not
/// find by itself.
#if defined(RIESZ_MULTIPLIES_WORDS)
inline __attribute__((always_inline)) void multiply_words(const TwoWords& a, const TwoWords& b, TwoWords& y) {
  using Ints = int __attribute__((vector_size(16)));
  y = (TwoWords)__builtin_ia32_pmuludq128((Ints)a, (Ints)b);
}
inline __attribute__((always_inline)) void multiply_words(const FourWords& a, const FourWords& b,
                                                          FourWords& y) {
  using Ints = int __attribute__((vector_size(32)));
  y = (FourWords)__builtin_ia32_pmuludq256((Ints)a, (Ints)b);
}
inline __attribute__((always_inline)) void multiply_words(const EightWords& a, const EightWords& b,
                                                          EightWords& y) {
  using Ints = int __attribute__((vector_size(64)));
  using None = long long __attribute__((vector_size(64)));
  y = (EightWords)__builtin_ia32_pmuludq512_mask((Ints)a, (Ints)b, None{}, 0xFF);
}
#else
template <typename Words>
inline __attribute__((always_inline)) void multiply_words(const Words& a, const Words& b, Words& y) {
  y = (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU);
}
#endif

/// Interleaves the pairs of words of a and b: a₀, b₀, a₁, b₁, …, in two vectors.
inline __attribute__((always_inline)) void in_turn(const TwoWords& a, const TwoWords& b, TwoWords* y) {
  y[0] = __builtin_shufflevector(a, b, 0, 2);
  y[1] = __builtin_shufflevector(a, b, 1, 3);
}
inline __attribute__((always_inline)) void in_turn(const FourWords& a, const FourWords& b, FourWords* y) {
  y[0] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  y[1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
inline __attribute__((always_inline)) void in_turn(const EightWords& a, const EightWords& b, EightWords* y) {
  y[0] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  y[1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// The words of `philox(key, block, high)` for blocks one after another.
struct PhiloxStream {
  std::uint64_t key, high;
};

/// Number of words that `draw_words` gives.
template <typename Words, int chains>
constexpr std::int64_t kWordsDrawn = chains* static_cast<std::int64_t>(sizeof(Words)) / 2;

/// The words of the stream from `block` on. A round waits for the one before, so several chains are computed
/// side by side.
template <typename Words, int chains>
inline __attribute__((always_inline)) void draw_words(const PhiloxStream& stream, std::uint64_t block,
                                                      std::uint32_t* words) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  constexpr std::int64_t kBlocks = sizeof(Words) / sizeof(std::uint64_t);
  alignas(64) static constexpr std::uint64_t kNumbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Words multiplier0 = Words{} + 0xD2511F53U, multiplier1 = Words{} + 0xCD9E8D57U;
  const Words high_low = Words{} + stream.high, high_high = Words{} + (stream.high >> 32);
  Words c0[chains], c1[chains], c2[chains], c3[chains];
  for (int chain = 0; chain < chains; ++chain) {
    std::memcpy(&c0[chain], kNumbers, sizeof(Words));
    c0[chain] += block + static_cast<std::uint64_t>(chain * kBlocks);
    c1[chain] = c0[chain] >> 32;
    c2[chain] = high_low;
    c3[chain] = high_high;
  }
  auto key0 = static_cast<std::uint32_t>(stream.key), key1 = static_cast<std::uint32_t>(stream.key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int chain = 0; chain < chains; ++chain) {
      Words first, second;
      multiply_words(c0[chain], multiplier0, first);
      multiply_words(c2[chain], multiplier1, second);
      c0[chain] = (second >> 32) ^ c1[chain] ^ std::uint64_t{key0};
      c1[chain] = second;
      c2[chain] = (first >> 32) ^ c3[chain] ^ std::uint64_t{key1};
      c3[chain] = first;
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
#pragma GCC unroll 4
  for (int chain = 0; chain < chains; ++chain) {
    Words all[2];
    in_turn(Words((c0[chain] & kLow) | (c1[chain] << 32)), Words((c2[chain] & kLow) | (c3[chain] << 32)),
            all);
    std::memcpy(words + chain * 4 * kBlocks, all, sizeof all);
  }
}

}  // namespace riesz::detail

#if defined(RIESZ_MULTIPLIES_WORDS)
#pragma GCC diagnostic pop
#undef RIESZ_MULTIPLIES_WORDS
#endif
