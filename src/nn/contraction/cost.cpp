// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <limits>

#include "riesz/nn/contraction/plan.h"

namespace riesz::detail {
namespace {

Traffic at_world_rank(const Operator& A, const Partition& grid, int rank) {
  const Partition& P = A.domain().partition();
  for (int r = 0; r < P.size(); ++r) {
    if (P.world_rank(r) == grid.world_rank(rank)) return A.traffic(r);
  }
  return {};
}

Traffic reading(const ContractionPlan& plan, std::size_t k, int rank) {
  Traffic sum;
  for (std::size_t panel = 0; panel < plan.reads(k); ++panel) {
    sum += at_world_rank(plan.read_of(k, panel), plan.read[1].range().partition(), rank);
  }
  return sum;
}

Traffic writing(const ContractionPlan& plan, std::size_t k, int rank) {
  Traffic sum;
  for (std::size_t panel = 0; panel < plan.reads(k); ++panel) {
    sum += at_world_rank(adjoint(plan.read_of(k, panel)), plan.read[1].range().partition(), rank);
  }
  return sum;
}

std::int64_t elements_of_all(const ContractionPlan& plan) {
  std::int64_t sum = 0;
  for (int rank = 0; rank < plan.read[1].range().partition().size(); ++rank) {
    sum += forward_traffic(plan, rank).elements + backward_traffic(plan, rank).elements;
  }
  return sum;
}

}  // namespace

Traffic forward_traffic(const ContractionPlan& plan, int rank) {
  return reading(plan, 0, rank) + reading(plan, 1, rank) + writing(plan, 2, rank);
}

Traffic backward_traffic(const ContractionPlan& plan, int rank, GradientsWanted wanted) {
  if (!wanted.of_x && !wanted.of_w) return {};
  Traffic sum = reading(plan, 2, rank);
  if (wanted.of_x) sum += writing(plan, 0, rank);
  if (wanted.of_w) sum += writing(plan, 1, rank);
  if (wanted.of_w && !plan.options.keep_x) sum += reading(plan, 0, rank);
  if (wanted.of_x && !plan.options.keep_w) sum += reading(plan, 1, rank);
  return sum;
}

Parallel cheapest_parallel(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                           const ContractionOptions& options) {
  std::string choices = "-";
  for (const std::string& letters : indices) {
    for (const char index : letters)
      choices += choices.find(index) == std::string::npos ? std::string(1, index) : "";
  }
  const auto price = [&](const Parallel& parallel) {
    return elements_of_all({indices, parallel, reads_of(indices, X, W, Y, parallel), options, std::nullopt});
  };
  Parallel best = parallel_by_rule(indices, X, W, Y);
  std::int64_t least = price(best);
  Parallel next = best;
  for (auto& [axis, index] : next) index = choices.front();
  for (bool more = true; more;) {
    const std::int64_t cost = price(next);
    if (cost < least) {
      least = cost;
      best = next;
    }
    more = false;  // count up
    for (auto& [axis, index] : next) {
      const std::size_t choice = choices.find(index) + 1;
      index = choices[choice % choices.size()];
      if ((more = choice < choices.size())) break;
    }
  }
  return best;
}

}  // namespace riesz::detail
