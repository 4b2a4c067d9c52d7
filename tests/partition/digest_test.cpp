// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Equal spaces have equal digests: they share plans, and a plan has the labels of the first.
#include "riesz/partition/digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "riesz/testing/print.h"

namespace riesz {
namespace {

std::uint64_t digest(const Space& X) {
  DigestBuilder builder;
  mix(builder, X);
  return builder.value();
}

/// Of `n` elements for `p` workers: often the balanced one, written in one of several ways.
Split random_split(std::mt19937& random, std::int64_t n, int p) {
  std::vector<std::int64_t> sizes;
  std::vector<Intervals> held;
  const Split balanced = Split::balanced(n, p);
  for (int worker = 0; worker < p; ++worker) {
    sizes.push_back(balanced[worker].size());
    held.push_back(balanced.held(worker));
  }
  switch (random() % 5) {
    case 0:
      return Split::zigzag(n, p);
    case 1:
      return Split::pieces(n, held);
    case 2:
      return Split::covering(n, held);
    case 3:
      sizes.front() += sizes.back(), sizes.back() = 0;
      break;
    default:
      break;
  }
  return Split::sizes(sizes);
}

Space random_space(std::mt19937& random) {
  const std::int64_t n = random() % 2 == 0 ? 8 : 9;
  Space X(Partition::simulated(4).grid({{"a", 2}, {"b", 2}}), {n, 4});
  const auto a_dim = random() % 3 != 0;
  const auto split = random_split(random, n, 2);
  if (random() % 4 == 0) X = X.copied("b");
  if (!a_dim) return random() % 2 == 0 ? X.sharded(1, "a") : X.sharded(1, "a", Split::sizes({2, 2}));
  X = random() % 2 == 0 ? X.sharded(0, "a") : X.sharded(0, "a", split, random() % 2 == 0);
  if (!X.shards(0).front().overlaps() && random() % 2 == 0) X = X.sharded(0, "b");
  return X;
}

TEST(Digest, OfEqualSpacesIsEqual) {
  const Space X(Partition::simulated(2).grid({{"a", 2}}), {8});
  EXPECT_EQ(digest(X.sharded(0, "a")), digest(X.sharded(0, "a", Split::sizes({4, 4}))));
  std::mt19937 random(1);
  std::vector<Space> spaces;
  while (spaces.size() < 200) spaces.push_back(random_space(random));
  int written_otherwise = 0;
  for (const Space& Y : spaces) {
    for (const Space& Z : spaces) {
      EXPECT_EQ(Y == Z, digest(Y) == digest(Z)) << to_string(Y) << "\n" << to_string(Z);
      written_otherwise += Y == Z && to_string(Y) != to_string(Z);
    }
  }
  EXPECT_GT(written_otherwise, 0);
}

/// Spaces with dims of any extent are equal where they are written alike.
TEST(Digest, OfDimsOfAnyExtentIsOfWhatIsWritten) {
  const Space X(Partition::simulated(2).grid({{"a", 2}}), {Space::any});
  const std::vector<Space> spaces{X, X.sharded(0, "a"), X.zigzag(0, "a"),
                                  X.sharded(0, "a", Split::sizes({4, 4})),
                                  X.sharded(0, "a", Split::sizes({3, 4}))};
  for (const Space& Y : spaces) {
    for (const Space& Z : spaces) EXPECT_EQ(Y == Z, digest(Y) == digest(Z)) << to_string(Y) << to_string(Z);
  }
}

}  // namespace
}  // namespace riesz
