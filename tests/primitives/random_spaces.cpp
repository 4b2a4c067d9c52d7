// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "random_spaces.h"

#include <algorithm>
#include <string>

namespace riesz::testing {

Partition RandomSpaces::grid(const Partition& workers) {
  const char* names[] = {"a", "b", "c"};
  std::vector<Axis> axes;
  int left = workers.size();
  const int count = 1 + any_of(3);
  for (int a = 0; a < count; ++a) {
    int extent = left;
    if (a < count - 1) {
      do extent = 1 + any_of(left);
      while (left % extent != 0);
    }
    axes.push_back({names[a], extent});
    left /= extent;
  }
  return workers.grid(axes);
}

Space RandomSpaces::shape(const Partition& grid) {
  const int dims = 1 + any_of(3);
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> units;
  for (int dim = 0; dim < dims; ++dim) {
    units.push_back(1 + any_of(2));
    shape.push_back((any_of(12) == 0 ? 0 : 1 + any_of(6)) * units.back());
  }
  Space X(grid, shape);
  for (int dim = 0; dim < dims; ++dim) X = X.unit(dim, units[static_cast<std::size_t>(dim)]);
  return X;
}

Space RandomSpaces::place(const Space& X, const std::vector<Placement>& kinds) {
  std::vector<Axis> axes = X.partition().axes();
  for (std::size_t i = axes.size(); i > 1; --i)
    std::swap(axes[i - 1], axes[static_cast<std::size_t>(any_of(static_cast<int>(i)))]);
  Space Y = X;
  for (const Axis& axis : axes) {
    const int way = any_of(static_cast<int>(kinds.size()) + (X.dims() > 0 ? 2 : 0));
    if (way < static_cast<int>(kinds.size())) {
      Y = Y.placed(axis.name, kinds[static_cast<std::size_t>(way)]);
      continue;
    }
    const int dim = any_of(X.dims());
    if (!Y.shards(dim).empty() || any_of(3) > 0) {
      Y = Y.sharded(dim, axis.name);
      continue;
    }
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(axis.extent), 0);
    for (std::int64_t left = X.shape()[static_cast<std::size_t>(dim)]; left > 0; left -= X.unit_of(dim)) {
      sizes[static_cast<std::size_t>(any_of(axis.extent))] += X.unit_of(dim);
    }
    Y = Y.sharded(dim, axis.name, Split::sizes(sizes));
  }
  return Y;
}

}  // namespace riesz::testing
