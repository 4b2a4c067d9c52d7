// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// The team of threads that computes a row on a GPU (cuda/team.h), on the stand-in for a block.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "riesz/testing/block_stand_in.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using cuda::Block;

std::uint32_t bits_of_float(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// What each thread of a block gets from f(its number). Warps go on in another order for each seed.
template <typename F>
std::vector<float> of_threads(int threads, std::uint64_t seed, const F& f) {
  std::vector<float> all(static_cast<std::size_t>(threads));
  run_block(threads, seed, [&] {
    const unsigned i = thread_of_block().x;
    all[i] = f(i);
  });
  return all;
}

void expect_all(const std::vector<float>& all, float expected) {
  for (const float each : all) ASSERT_EQ(bits_of_float(each), bits_of_float(expected));
}

TEST(Blocks, AllThreadsGetTheSum) {
  for (const int threads : {32, 64, 256, 1024}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      // Two sums, one after the other: the second is not to touch what the first still reads.
      const auto n = static_cast<float>(threads);  // whole numbers below 2^24
      expect_all(of_threads(threads, seed,
                            [&](unsigned i) {
                              const float first = Block::sum(static_cast<float>(i));
                              return Block::sum(static_cast<float>(2 * i)) - first;
                            }),
                 n * (n - 1) / 2);
    }
  }
}

TEST(Blocks, AllThreadsGetTheGreatest) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const int threads : {64, 512}) {
    for (const unsigned at : {0U, 21U, 63U}) {
      const auto greatest = [&](float there, float elsewhere) {
        return of_threads(threads, at,
                          [=](unsigned i) { return Block::greatest(i == at ? there : elsewhere); });
      };
      expect_all(greatest(3, -5), 3);
      expect_all(greatest(-INFINITY, -INFINITY), -INFINITY);
      expect_all(greatest(kNan, -5), -5);
      expect_all(greatest(-5, kNan), -5);
      for (const float there : {0.0F, -0.0F}) expect_all(greatest(there, -there), 0);
    }
  }
}

TEST(Blocks, EachElementIsOneThreads) {
  for (const std::int64_t end : {5, 6, 70, 1000}) {
    std::vector<int> seen(static_cast<std::size_t>(end), 0);
    run_block(64, 1,
              [&] { Block::each(5, end, [&](auto part) { ++seen[static_cast<std::size_t>(part.at)]; }); });
    for (std::int64_t i = 0; i < end; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i >= 5) << i;
  }
}

TEST(Blocks, AllThreadsGetTheSumsOfARow) {
  std::vector<float> row(1000);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 17) - 8;
  for (const int threads : {64, 512}) {
    run_block(threads, 3, [&] {
      float sums[2];
      Block::sums(1000, sums, [&](auto part, float(&terms)[2]) {
        part.load(row.data(), terms[0]);
        terms[1] = terms[0] * terms[0];
      });
      float first = 0, second = 0;
      for (const float each : row) first += each, second += each * each;
      EXPECT_TRUE(sums[0] == first && sums[1] == second);  // whole numbers
    });
  }
}

TEST(Blocks, RowsHaveAsManyThreadsAsTheirElementsNeed) {
  for (const std::int64_t elements : {1, 100, 256, 257, 2048, 50257, 10'000'000}) {
    const int threads = cuda::threads_of_row(elements);
    EXPECT_TRUE(threads % 32 == 0 && threads >= 64 && threads <= 512) << threads;
    EXPECT_TRUE(threads == 512 || threads * 4 >= elements);
    EXPECT_TRUE(threads == 64 || threads * 2 < elements);
  }
}

/// What a GPU would hang at.
TEST(Blocks, ThreadsThatPartWaysAreAnError) {
  EXPECT_ERROR(run_block(33, 0, [] {}), "a block has whole warps, not 33 threads");
  EXPECT_ERROR(of_threads(64, 0, [](unsigned i) { return i == 3 ? 0 : Block::sum(1); }),
               "of a block does not call what thread 0 of its warp calls");
  EXPECT_ERROR(of_threads(64, 0, [](unsigned i) { return i < 32 ? 0 : Block::sum(1); }),
               "some threads of a block have ended");
}

}  // namespace
}  // namespace riesz::testing
