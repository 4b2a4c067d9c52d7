// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/expert_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace riesz::testing {
namespace {

/// Rows of all worker pairs where worker u's tokens have made these choices of experts.
struct Sent {
  Sent(const ExpertParts& experts, int workers) : parts(experts), rows(static_cast<std::size_t>(workers)) {
    for (auto& each : rows) each.resize(static_cast<std::size_t>(workers));
  }
  void token(int from, const std::vector<std::int64_t>& chosen) {
    for (const std::int64_t expert : chosen)
      for (int to = 0; to < parts.workers(); ++to) {
        const Interval mine = parts.split().held(to).front(), of = parts.parts_of(expert);
        if (of.begin < mine.end && mine.begin < of.end)
          ++rows[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      }
  }
  ExpertRows of(int worker) const {
    const auto me = static_cast<std::size_t>(worker);
    ExpertRows all;
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other != me) all.sent += rows[me][other];
      if (other != me) all.received += rows[other][me];
      all.computed += rows[other][me];
    }
    return all;
  }
  ExpertParts parts;
  std::vector<std::vector<double>> rows;
};

/// Every choice of 2 of E experts, by each token, on few and on many workers.
TEST(ExpertRows, AreTheMeanAndTheMostOfAllChoices) {
  const std::vector<double> tokens{2, 1, 3};
  for (const std::int64_t E : {2, 4, 5}) {
    const ExpertParts experts(E, 6, 3);
    for (int worker = 0; worker < 3; ++worker) {
      ExpertRows mean, most;
      double choices = 0;
      for (std::int64_t a = 0; a < E; ++a) {
        for (std::int64_t b = a + 1; b < E; ++b, ++choices) {
          Sent sent(experts, 3);  // all tokens choose alike: what holds of each holds of their sum
          for (int from = 0; from < 3; ++from)
            for (int t = 0; t < tokens[static_cast<std::size_t>(from)]; ++t) sent.token(from, {a, b});
          const ExpertRows is = sent.of(worker);
          mean.sent += is.sent, mean.received += is.received, mean.computed += is.computed;
          most = {std::max(most.sent, is.sent), std::max(most.received, is.received),
                  std::max(most.computed, is.computed)};
        }
      }
      const ExpertRows expected = expected_rows(experts, tokens, worker, 2);
      const ExpertRows at_most = most_rows(experts, tokens, worker, 2);
      EXPECT_NEAR(expected.sent, mean.sent / choices, 1e-12) << E << " " << worker;
      EXPECT_NEAR(expected.received, mean.received / choices, 1e-12) << E << " " << worker;
      EXPECT_NEAR(expected.computed, mean.computed / choices, 1e-12) << E << " " << worker;
      EXPECT_EQ(at_most.sent, most.sent) << E << " " << worker;
      EXPECT_EQ(at_most.received, most.received) << E << " " << worker;
      EXPECT_EQ(at_most.computed, most.computed) << E << " " << worker;
    }
  }
}

}  // namespace
}  // namespace riesz::testing
