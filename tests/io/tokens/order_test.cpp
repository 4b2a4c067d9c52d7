// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "riesz/io/tokens/mixture.h"
#include "riesz/io/tokens/seeded_permutation.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

TEST(SeededPermutation, HasEachNumberOnce) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 16, 17, 1000, 1023, 1025}) {
    const SeededPermutation order(n, 5, "order");
    std::set<std::int64_t> seen;
    for (std::int64_t place = 0; place < n; ++place) seen.insert(order.at(place));
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), n);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), n - 1);
  }
  const SeededPermutation large(std::int64_t{1} << 50, 5, "order");
  EXPECT_NE(large.at(0), large.at(1));
  EXPECT_ERROR(SeededPermutation(0, 1, ""), "of 0 numbers");
  EXPECT_ERROR(large.at(-1), "place -1 of 1125899906842624");
}

TEST(SeededPermutation, PutsEveryNumberInEveryPlaceAlikeOften) {
  for (const std::int64_t n : {3, 5}) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
    std::set<std::vector<std::int64_t>> orders;
    constexpr int kOrders = 6000;
    for (std::uint64_t stream = 0; stream < kOrders; ++stream) {
      const SeededPermutation order(n, 1, "order", stream);
      std::vector<std::int64_t> all;
      for (std::int64_t place = 0; place < n; ++place) {
        all.push_back(order.at(place));
        ++counts[{place, all.back()}];
      }
      orders.insert(all);
    }
    const double mean = static_cast<double>(kOrders) / static_cast<double>(n);
    for (const auto& [where, count] : counts) EXPECT_NEAR(count, mean, 5 * std::sqrt(mean)) << n;
    EXPECT_EQ(orders.size(), n == 3 ? 6u : 120u) << "every order comes";
  }
}

TEST(Mixture, GivesEachSourceItsShareAndItsSequencesInTurn) {
  const std::vector<std::int64_t> sizes = {7, 100, 3};
  const std::vector<double> weights = {0.5, 0.3, 0.2};
  const Mixture mixture(sizes, weights, 9);
  std::array<std::int64_t, 3> drawn{};
  std::array<std::set<std::int64_t>, 3> epoch;

  for (std::int64_t place = 0; place < 2000; ++place) {
    for (std::size_t s = 0; s < 3; ++s) {
      ASSERT_EQ(mixture.drawn_before(place, s), drawn[s]) << "the place says it all";
      ASSERT_NEAR(static_cast<double>(drawn[s]), weights[s] * static_cast<double>(place), 1.5);
    }
    const auto [source, sequence, epochs] = mixture.at(place);
    ASSERT_EQ(epochs, drawn[source] / sizes[source]);
    if (drawn[source]++ % sizes[source] == 0) epoch[source].clear();
    ASSERT_TRUE(epoch[source].insert(sequence).second) << "once in an epoch";
    ASSERT_LT(sequence, sizes[source]);
  }
}

TEST(Mixture, OfOneSourceIsAnotherOrderInEachEpoch) {
  const Mixture mixture({50}, {}, 1), other({50}, {}, 2);
  int same_epoch = 0, same_seed = 0;

  for (std::int64_t place = 0; place < 50; ++place) {
    same_epoch += mixture.at(place).sequence == mixture.at(place + 50).sequence;
    same_seed += mixture.at(place).sequence == other.at(place).sequence;
  }

  EXPECT_LT(same_epoch, 8);
  EXPECT_LT(same_seed, 8);
  EXPECT_EQ(Mixture({30, 10}, {}, 1).drawn_before(4000, 0), 3000) << "by size where nothing is said";
  EXPECT_ERROR(Mixture({1, 2}, {1.0}, 1), "2 sources with 1 weights");
  EXPECT_ERROR(Mixture({1, 2}, {1.0, 0.0}, 1), "source 1 of a mixture has the weight 0");
  EXPECT_ERROR(Mixture({1, 0}, {1.0, 1.0}, 1), "source 1 of a mixture has no sequence");
}

}  // namespace
}  // namespace riesz
