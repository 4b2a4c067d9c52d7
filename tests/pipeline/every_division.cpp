// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "every_division.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace riesz::testing {
namespace {

void extend(Division& division, std::size_t things, int left, int replicas,
            const std::function<void(const Division&)>& use) {
  const std::size_t begin = division.ends.empty() ? 0 : division.ends.back();
  if (begin == things && left == 0) return use(division);
  for (std::size_t end = things; end > begin; --end) {
    for (int r = 1; r <= std::min(left, replicas); ++r) {
      division.ends.push_back(end);
      division.workers.push_back(r);
      extend(division, things, left - r, replicas, use);
      division.ends.pop_back();
      division.workers.pop_back();
    }
  }
}

}  // namespace

void for_every_division(std::size_t things, int workers, int replicas,
                        const std::function<void(const Division&)>& use) {
  Division none;
  extend(none, things, workers, replicas, use);
}

std::vector<double> costs_of(const Division& division, int workers, const StageCost& cost) {
  std::vector<double> costs;
  std::size_t begin = 0;
  for (std::size_t s = 0; s < division.ends.size(); ++s) {
    costs.push_back(cost(begin, division.ends[s], division.workers[s], workers));
    begin = division.ends[s];
    workers -= division.workers[s];
  }
  return costs;
}

Division best_division(std::size_t things, int workers, int replicas, const StageCost& cost) {
  Division best;
  std::pair<double, double> value{std::numeric_limits<double>::max(), 0};
  for_every_division(things, workers, replicas, [&](const Division& division) {
    const std::vector<double> costs = costs_of(division, workers, cost);
    const std::pair<double, double> its{*std::max_element(costs.begin(), costs.end()),
                                        std::inner_product(costs.begin(), costs.end(), costs.begin(), 0.0)};
    if (its >= value) return;
    value = its;
    best = division;
    best.largest = its.first;
  });
  return best;
}

StageCost sum_of(const std::vector<double>& costs) {
  return [costs](std::size_t begin, std::size_t end, int, int) {
    return std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(begin),
                           costs.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  };
}

}  // namespace riesz::testing
