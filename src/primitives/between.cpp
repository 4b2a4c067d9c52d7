// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/between.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/moves.h"

namespace riesz {
namespace {

const Axis& axis_of(const Space& X, int a) { return X.partition().axis(a); }

bool shards(const Space& X, int a) { return X.placement(a) == Placement::Sharded; }

/// X with `axis` minor-most on `dim`; with Y's own split where the axes before it are Y's, else balanced.
Space entered(const Space& X, const Space& Y, int dim, const Shard& shard) {
  const std::string& name = axis_of(X, shard.axis).name;
  const std::vector<Shard>& now = X.shards(dim);
  const std::vector<Shard>& then = Y.shards(dim);
  const bool same_prefix = now.size() < then.size() && std::equal(now.begin(), now.end(), then.begin()) &&
                           then[now.size()] == shard;
  return shard.split && same_prefix ? X.sharded(dim, name, *shard.split, shard.terms) : X.sharded(dim, name);
}

struct Entry {
  std::vector<Step> steps;
  Space end;
};

Entry entering(const Space& X, const Space& Y) {
  std::vector<std::vector<Shard>> waiting(static_cast<std::size_t>(X.dims()));
  for (int dim = 0; dim < X.dims(); ++dim) {
    for (const Shard& shard : Y.shards(dim)) {
      if (!shards(X, shard.axis)) waiting[static_cast<std::size_t>(dim)].push_back(shard);
    }
  }
  Entry entry{{}, X};
  const auto moves = [&](std::size_t dim) {
    return X.placement(waiting[dim].front().axis) == Placement::Partial;
  };
  while (true) {
    std::optional<std::size_t> next;
    for (std::size_t dim = 0; dim < waiting.size(); ++dim) {
      if (!waiting[dim].empty() && (!next || (moves(*next) && !moves(dim)))) next = dim;
    }
    if (!next) return entry;
    const Shard shard = waiting[*next].front();
    waiting[*next].erase(waiting[*next].begin());
    const Space from = std::exchange(entry.end, entered(entry.end, Y, static_cast<int>(*next), shard));
    if (!entry.end.counts(shard.axis)) continue;
    const bool adds = X.placement(shard.axis) == Placement::Partial;
    entry.steps.push_back(adds ? primitives::reduce_scatter(from, entry.end, {shard.axis})
                               : primitives::slice(from, entry.end, {shard.axis}));
  }
}

Step change(Placement from, Placement to, const Space& X, const Space& Y, const std::vector<int>& axes) {
  if (from == Placement::Partial) return primitives::all_reduce(X, Y, axes);
  if (to == Placement::Partial) return primitives::term(X, Y, axes);
  return to == Placement::Copied ? primitives::copy(X, Y, axes) : primitives::agree(X, Y, axes);
}

/// Axes that neither end shards, brought from X's placement to Y's; axes of one kind move as one.
void append_changes(std::vector<Step>& steps, Space& Z, const Space& X, const Space& Y) {
  std::map<std::pair<Placement, Placement>, std::vector<int>> kinds;
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    if (!shards(X, a) && !shards(Y, a) && X.placement(a) != Y.placement(a)) {
      kinds[{X.placement(a), Y.placement(a)}].push_back(a);
    }
  }
  for (const auto& [ends, axes] : kinds) {
    const Space from = Z;
    std::vector<int> moving;
    for (const int a : axes) {
      Z = Z.placed(axis_of(Z, a).name, ends.second);
      if (axis_of(Z, a).extent > 1) moving.push_back(a);
    }
    if (!moving.empty()) steps.push_back(change(ends.first, ends.second, from, Z, moving));
  }
}

/// Where an axis stands: the dim, and the axes of it before this one, this one's split included; axes of one
/// worker aside.
std::optional<std::pair<int, std::vector<Shard>>> standing(const Space& X, int a) {
  const int dim = X.dim_of(a);
  if (dim < 0) return std::nullopt;
  std::vector<Shard> prefix;
  for (const Shard& shard : X.shards(dim)) {
    if (X.counts(shard.axis)) prefix.push_back(shard);
    if (shard.axis == a) break;
  }
  return std::pair{dim, prefix};
}

bool any_dim(const Space& X, bool (Space::*is)(int) const) {
  for (int dim = 0; dim < X.dims(); ++dim) {
    if ((X.*is)(dim)) return true;
  }
  return false;
}

/// Do the pieces of the one axis that moves go from worker to worker, whole?
bool shifts(const Space& Z, const Space& V, int a) {
  if (Z.shards(Z.dim_of(a)).size() != 1 || V.shards(V.dim_of(a)).size() != 1) return false;
  const Split from = split_of(Z, Z.dim_of(a));
  const Split to = split_of(V, V.dim_of(a));
  for (int k = 1; k < from.workers(); ++k) {
    if (to.held(k) == from.held(0) && to == from.rotated(k)) return true;
  }
  return false;
}

Step one_exchange(const Space& Z, const Space& V, const std::vector<int>& axes) {
  if (any_dim(V, &Space::copies) && !any_dim(Z, &Space::terms)) return primitives::halo(Z, V, axes);
  if (any_dim(Z, &Space::terms) && !any_dim(V, &Space::copies)) return primitives::halo_sum(Z, V, axes);
  const int a = axes.front();
  if (axes.size() > 1) return primitives::repartition(Z, V, axes);
  if (Z.dim_of(a) != V.dim_of(a)) return primitives::all_to_all(Z, V, axes);
  return shifts(Z, V, a) ? primitives::shift(Z, V, axes) : primitives::repartition(Z, V, axes);
}

/// The axes that do not lie alike.
std::vector<int> moving(const Space& X, const Space& Y) {
  std::vector<int> moved;
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    const bool differs = standing(X, a) != standing(Y, a) || X.placement(a) != Y.placement(a);
    if ((X.counts(a) || Y.counts(a)) && differs) moved.push_back(a);
  }
  return moved;
}

void append_exchange(std::vector<Step>& steps, const Space& Z, const Space& V) {
  const std::vector<int> moved = moving(Z, V);
  if (!moved.empty()) steps.push_back(one_exchange(Z, V, moved));
}

/// Does an axis that X does not shard have to enter a dim where X's split overlaps, and so suffers no other?
bool shut(const Space& X, const Space& Y) {
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (!X.copies(dim) && !X.terms(dim)) continue;
    for (const Shard& shard : Y.shards(dim)) {
      if (!shards(X, shard.axis)) return true;
    }
  }
  return false;
}

Operator within_partition(const Space& X, const Space& Y) {
  if (X == Y) return {X, Y, {}};
  if (shut(X, Y) || shut(Y, X)) {
    const std::vector<int> moved = moving(X, Y);
    return moved.empty() ? Operator(X, Y, {}) : Operator(X, Y, {primitives::repartition(X, Y, moved)});
  }
  Entry entry = entering(X, Y);
  const Entry back = entering(dual(Y), dual(X));
  append_changes(entry.steps, entry.end, X, Y);
  append_exchange(entry.steps, entry.end, dual(back.end));
  for (auto step = back.steps.rbegin(); step != back.steps.rend(); ++step)
    entry.steps.push_back((*step)->adjoint());
  return {X, Y, std::move(entry.steps)};
}

}  // namespace

Operator between(const Space& X, const Space& Y) {
  bool same = X.shape() == Y.shape() && X.concrete();
  for (int dim = 0; same && dim < X.dims(); ++dim) same = X.unit_of(dim) == Y.unit_of(dim);
  RIESZ_CHECK(same,
              "between(X, Y): no natural map, since the vectors of X and Y differ in shape or units:\n  ",
              to_string(X), "\n  ", to_string(Y));
  return X.partition() == Y.partition() ? within_partition(X, Y) : Operator(X, Y, {primitives::across(X, Y)});
}

}  // namespace riesz
