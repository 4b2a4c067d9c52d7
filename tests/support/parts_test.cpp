// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/parts.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "riesz/testing/all_ranks.h"
#include "riesz/testing/random.h"

namespace riesz::testing {
namespace {

TEST(AllParts, HaveEachItsOwnShape) {
  const Partition P = Partition::world();
  const auto part = [](int rank) { return at::full({rank, 2}, rank + 0.5, at::kDouble); };

  const std::vector<at::Tensor> parts = all_parts(P, part(P.rank()));

  ASSERT_EQ(parts.size(), static_cast<std::size_t>(P.size()));
  for (int rank = 0; rank < P.size(); ++rank)
    EXPECT_SAME_BITS(parts[static_cast<std::size_t>(rank)], part(rank));
}

TEST(Meant, IsPiecesTogetherTermsAddedCopiesOnce) {
  const Partition grid = Partition::simulated(8).grid({{"a", 2}, {"b", 2}, {"c", 2}});
  const Space X = Space(grid, {3}).sharded(0, "a").partial("b").copied("c");
  std::vector<at::Tensor> parts;
  for (int rank = 0; rank < 8; ++rank) parts.push_back(at::full(X.local_shape(rank), rank, at::kDouble));

  // a = 0 has [0, 2): ranks 0 and 2; a = 1 has [2, 3): ranks 4 and 6
  EXPECT_SAME_BITS(meant(X, parts), at::tensor({2., 2., 10.}, at::kDouble));
}

TEST(Meant, OfAVectorIsTheSameOnAllWorkers) {
  const Space X = Space(Partition::world(), {5, 2}).sharded(0, "world");

  EXPECT_SAME_BITS(meant(random_vector(X, 3)), meant(X, random_parts(X, 3, false)));
}

TEST(Random, ReplicatedPartsAreEqualAndOthersAreNot) {
  const Space X(Partition::simulated(3), {4});

  EXPECT_TRUE(belongs(X, random_parts(X, 1, false), false));
  EXPECT_FALSE(belongs(X, random_parts(X.partial("world"), 1, true), false));
  EXPECT_FALSE(belongs(X, random_parts(X.copied("world"), 1, false), false));
  EXPECT_TRUE(belongs(X, random_parts(X.copied("world"), 1, true), false));
  EXPECT_FALSE(belongs(X.copied("world"), random_parts(X.partial("world"), 1, true), true));
}

TEST(Random, DiffersBySeedAndIsNowhereZero) {
  const Space X(Partition::simulated(1), {50});

  EXPECT_FALSE(same_bits(random_part(X, 0, 1, false), random_part(X, 0, 2, false)));
  EXPECT_TRUE(random_part(X, 0, 1, false).ne(0).all().item<bool>());
}

TEST(SameBits, TellsSignsOfZeroNaNsShapesAndTypes) {
  const at::Tensor zero = at::full({2}, 0., at::kDouble);

  EXPECT_TRUE(same_bits(zero, zero.clone()));
  EXPECT_FALSE(same_bits(zero, at::full({2}, -0., at::kDouble)));
  EXPECT_FALSE(same_bits(zero, at::full({1, 2}, 0., at::kDouble)));
  EXPECT_FALSE(same_bits(zero, at::full({2}, 0., at::kFloat)));
  EXPECT_TRUE(
      same_bits(at::full({1}, std::nan("7"), at::kDouble), at::full({1}, std::nan("7"), at::kDouble)));
  EXPECT_FALSE(
      same_bits(at::full({1}, std::nan("7"), at::kDouble), at::full({1}, std::nan("9"), at::kDouble)));
  EXPECT_TRUE(same_bits(at::arange(6).view({2, 3}).t(), at::arange(6).view({2, 3}).t().contiguous()));
}

TEST(AllRanks, GatherTextsOfAnyLength) {
  const Partition P = Partition::world();
  AllRanks ranks;

  const std::vector<std::string> texts =
      ranks.gather(std::string(static_cast<std::size_t>(2 * P.rank()), 'x'));

  ASSERT_EQ(texts.size(), static_cast<std::size_t>(P.size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank], std::string(2 * rank, 'x'));
}

TEST(AllRanks, AreWrittenAsRanges) {
  EXPECT_EQ(ranks_text({1}), "rank 1");
  EXPECT_EQ(ranks_text({0, 1, 2, 3}), "ranks 0-3");
  EXPECT_EQ(ranks_text({0, 2, 3, 7}), "ranks 0, 2-3, 7");
}

}  // namespace
}  // namespace riesz::testing
