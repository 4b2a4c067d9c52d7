// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include "riesz/primitives/moves.h"
#include "riesz/primitives/moves/move.h"

namespace riesz::primitives {
namespace {

std::vector<Axis> wide_axes(const Space& S) {
  std::vector<Axis> axes;
  for (const Axis& axis : S.partition().axes()) {
    if (axis.extent > 1) axes.push_back(axis);
  }
  return axes;
}

bool sharded_only(const Space& S) {
  for (const Axis& axis : wide_axes(S)) {
    if (S.placement(axis.name) != Placement::Sharded) return false;
  }
  return true;
}

/// An axis and its split by name, so that those of two grids can be compared.
struct NamedShard {
  std::string axis;
  std::optional<Split> split;
  bool terms;

  bool operator==(const NamedShard&) const = default;
};

std::vector<NamedShard> named_shards(const Space& S, int dim) {
  std::vector<NamedShard> named;
  for (const Shard& shard : S.shards(dim)) {
    const Axis& axis = S.partition().axis(shard.axis);
    if (axis.extent > 1) named.push_back({axis.name, shard.split, shard.terms});
  }
  return named;
}

/// Is Y the space X, placed as `fresh` on axes that X's grid has not?
bool extends(const Space& X, const Space& Y, Placement fresh) {
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (named_shards(X, dim) != named_shards(Y, dim)) return false;
  }
  const std::vector<Axis> old = wide_axes(X);
  const std::vector<Axis> all = wide_axes(Y);
  const bool kept = std::all_of(old.begin(), old.end(), [&](const Axis& axis) {
    return std::find(all.begin(), all.end(), axis) != all.end() &&
           X.placement(axis.name) == Y.placement(axis.name);
  });
  return kept && std::all_of(all.begin(), all.end(), [&](const Axis& axis) {
           return std::find(old.begin(), old.end(), axis) != old.end() || Y.placement(axis.name) == fresh;
         });
}

const char* name_of(const Space& X, const Space& Y) {
  const std::size_t from = wide_axes(X).size();
  const std::size_t to = wide_axes(Y).size();
  if (from == to && extends(X, Y, Placement::Copied)) return "SendRecv";
  if (from < to && extends(X, Y, Placement::Copied)) return "Broadcast";
  if (to < from && extends(Y, X, Placement::Partial)) return "SumReduce";
  if (from == 0 && to > 0 && sharded_only(Y)) return "Scatter";
  if (to == 0 && from > 0 && sharded_only(X)) return "Gather";
  return "Repartition";
}

}  // namespace

Step across(const Space& X, const Space& Y) { return named_move(name_of(X, Y), X, Y); }

}  // namespace riesz::primitives
