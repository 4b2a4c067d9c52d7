// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/grids.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace riesz::testing {
namespace {

void extend(const Partition& workers, std::vector<Axis> axes, int left,
            const std::function<void(const Partition&)>& f) {
  constexpr const char* names[] = {"a", "b", "c"};
  const std::string name = names[axes.size()];
  axes.push_back({name, left});
  const Partition grid = workers.grid(axes);
  {
    SCOPED_TRACE("on the grid " + to_string(grid));
    f(grid);
  }
  if (axes.size() == 3) return;
  for (int extent = 1; extent <= left; ++extent) {
    if (left % extent != 0) continue;
    axes.back().extent = extent;
    extend(workers, axes, left / extent, f);
  }
}

}  // namespace

void for_each_grid(const Partition& workers, const std::function<void(const Partition&)>& f) {
  extend(workers, {}, workers.size(), f);
}

void for_each_grid(int n, const std::function<void(const Partition&)>& f) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  for_each_grid(Partition::world().subset(ranks), f);
}

}  // namespace riesz::testing
