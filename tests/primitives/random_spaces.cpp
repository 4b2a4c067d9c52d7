// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "random_spaces.h"

#include <algorithm>
#include <numeric>
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
  shuffle(axes);
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

Partition RandomSpaces::some_of(const Partition& workers) {
  std::vector<int> ranks(static_cast<std::size_t>(workers.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  shuffle(ranks);
  if (any_of(3) > 0) ranks.resize(static_cast<std::size_t>(1 + any_of(workers.size())));
  return workers.subset(ranks);
}

Split RandomSpaces::split(std::int64_t n, int p, std::int64_t unit) {
  const int way = any_of(3);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(p), 0);
  for (std::int64_t left = n; left > 0; left -= unit) sizes[static_cast<std::size_t>(any_of(p))] += unit;
  const Split split = way == 0   ? Split::balanced(n, p, unit)
                      : way == 1 ? Split::zigzag(n, p, unit)
                                 : Split::sizes(sizes);
  return any_of(4) == 0 ? split.rotated(any_of(p)) : split;
}

Split RandomSpaces::covering(std::int64_t n, int p, std::int64_t unit) {
  const Split base = split(n, p, unit);
  std::vector<Intervals> needs;
  for (int worker = 0; worker < p; ++worker) {
    Intervals held;
    for (const Interval& own : base.held(worker)) {
      const std::int64_t before = unit * any_of(3);
      const std::int64_t after = unit * any_of(3);
      held.push_back({std::max<std::int64_t>(0, own.begin - before), std::min(n, own.end + after)});
    }
    if (any_of(4) == 0) {
      const std::int64_t begin = unit * any_of(static_cast<int>(n / unit) + 1);
      held.push_back({begin, begin + unit * any_of(static_cast<int>((n - begin) / unit) + 1)});
    }
    if (total(base.held(worker)) == 0 && any_of(2) == 0) held.clear();
    shuffle(held);
    needs.push_back(held);
  }
  return Split::covering(n, needs);
}

Space RandomSpaces::lay_out(const Space& X, const std::vector<Placement>& kinds, bool terms) {
  std::vector<Axis> axes = X.partition().axes();
  shuffle(axes);
  Space Y = X;
  for (const Axis& axis : axes) {
    const int way = any_of(static_cast<int>(kinds.size()) + (X.dims() > 0 ? 3 : 0));
    const int dim = X.dims() > 0 ? any_of(X.dims()) : 0;
    if (way < static_cast<int>(kinds.size())) {
      Y = Y.placed(axis.name, kinds[static_cast<std::size_t>(way)]);
    } else if (Y.copies(dim) || Y.terms(dim)) {  // it shards its dim alone
      Y = Y.placed(axis.name, kinds.empty() ? Placement::Replicated : kinds.front());
    } else if (!Y.shards(dim).empty() || any_of(3) == 0) {
      Y = Y.sharded(dim, axis.name);
    } else {
      const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
      const bool overlaps = any_of(2) == 0;
      Y = Y.sharded(
          dim, axis.name,
          overlaps ? covering(n, axis.extent, X.unit_of(dim)) : split(n, axis.extent, X.unit_of(dim)),
          overlaps && terms && any_of(2) == 0);
    }
  }
  return Y;
}

Space RandomSpaces::shard_all(const Space& X, bool overlaps) {
  std::vector<Axis> axes = X.partition().axes();
  shuffle(axes);
  Space Y = X;
  int open = X.dims();  // dims whose split does not overlap
  for (std::size_t i = 0; i < axes.size(); ++i) {
    int dim = any_of(X.dims());
    while (Y.copies(dim)) dim = (dim + 1) % X.dims();
    const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
    const bool last = i + 1 == axes.size();
    if (!Y.shards(dim).empty()) {
      Y = Y.sharded(dim, axes[i].name);
    } else if (overlaps && (open > 1 || last) && any_of(3) > 0) {
      Y = Y.sharded(dim, axes[i].name, covering(n, axes[i].extent, X.unit_of(dim)));
      --open;
    } else {
      Y = Y.sharded(dim, axes[i].name, split(n, axes[i].extent, X.unit_of(dim)));
    }
  }
  return Y;
}

std::pair<Space, Space> random_ends(std::uint64_t seed, int workers, int me) {
  const std::vector<Placement> all{Placement::Replicated, Placement::Copied, Placement::Partial};
  RandomSpaces random(seed);
  const Partition world = Partition::simulated(workers, me);
  const bool apart = random.any_of(3) == 0;
  const Partition here = apart ? random.some_of(world) : world;
  const Space X = random.shape(random.grid(here));
  if (!apart) {
    const Space Y = random.lay_out(X, all, true);
    return {random.lay_out(X, all, true), Y};
  }
  const Partition there = random.grid(random.some_of(world));
  const Space from = random.place(X, all);
  Space to(there, X.shape());
  for (int dim = 0; dim < X.dims(); ++dim) to = to.unit(dim, X.unit_of(dim));
  return {from, random.place(to, all)};
}

}  // namespace riesz::testing
