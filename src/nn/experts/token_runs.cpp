// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/token_runs.h"

#include <algorithm>
#include <cstddef>

#include "riesz/nn/random/global_runs.h"

namespace riesz::detail {

std::int64_t TokenRuns::most() const {
  std::size_t most = 0;
  for (const auto& each : runs) most = std::max(most, each.size());
  return static_cast<std::int64_t>(most);
}

TokenRuns token_runs(const Space& T) {
  const Partition& P = T.partition();
  TokenRuns all{1, {}, {}, {}, 0};
  std::vector<int> positions;
  for (int axis = 0; axis < static_cast<int>(P.axes().size()); ++axis) {
    if (P.axis(axis).extent == 1 || T.dim_of(axis) < 0) continue;
    all.axes.push_back(P.axis(axis).name);
    positions.push_back(axis);
  }
  const std::vector<std::int64_t> tokens(T.shape().begin(), T.shape().end() - 1);
  for (const std::int64_t extent : tokens) all.tokens *= extent;
  all.ranks = P.fibre(P.rank(), positions);
  for (const int rank : all.ranks) {
    if (rank == P.rank()) all.me = all.runs.size();
    all.runs.emplace_back();
    Boxes boxes = T.boxes(rank);
    boxes.pop_back();
    const GlobalRuns held(tokens, boxes);
    held.visit(0, held.elements(), [&](std::int64_t first, std::int64_t count, std::int64_t local) {
      all.runs.back().push_back({first, count, local});
    });
  }
  return all;
}

}  // namespace riesz::detail
