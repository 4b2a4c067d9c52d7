// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/expert_rows.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace riesz {
namespace {

double tokens_of_all(const std::vector<double>& tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), 0.0);
}

/// The parts of the k experts that have most of them on other workers.
double most_elsewhere(const ExpertParts& experts, int worker, std::int64_t k) {
  const Interval mine = experts.split().held(worker).front();
  std::vector<std::int64_t> elsewhere;
  for (std::int64_t expert = 0; expert < experts.experts(); ++expert) {
    const Interval of = experts.parts_of(expert);
    const bool here = of.begin < mine.end && mine.begin < of.end;
    elsewhere.push_back(of.size() - (here ? 1 : 0));
  }
  std::sort(elsewhere.begin(), elsewhere.end(), std::greater<>());
  const auto chosen = static_cast<std::ptrdiff_t>(std::min(k, experts.experts()));
  return static_cast<double>(std::accumulate(elsewhere.begin(), elsewhere.begin() + chosen, std::int64_t{0}));
}

}  // namespace

ExpertRows expected_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                         std::int64_t k) {
  const auto here = static_cast<double>(total(experts.split().held(worker)));
  const auto parts = static_cast<double>(experts.parts().size());
  const double of_each = static_cast<double>(k) / static_cast<double>(experts.experts());
  const double mine = tokens[static_cast<std::size_t>(worker)], all = tokens_of_all(tokens);
  return {mine * of_each * (parts - here), (all - mine) * of_each * here, all * of_each * here};
}

ExpertRows most_rows(const ExpertParts& experts, const std::vector<double>& tokens, int worker,
                     std::int64_t k) {
  const auto of_each = static_cast<double>(std::min(k, total(experts.split().held(worker))));
  const double mine = tokens[static_cast<std::size_t>(worker)], all = tokens_of_all(tokens);
  return {mine * most_elsewhere(experts, worker, k), (all - mine) * of_each, all * of_each};
}

}  // namespace riesz
