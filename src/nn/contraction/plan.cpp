// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/plan.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/panels.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

using Spaces = std::array<const Space*, 3>;

/// The index of an operand that an axis shards, or '-'.
char sharded_index(const std::string& indices, const Space& S, const std::string& axis) {
  const int a = S.partition().find(axis);
  const int dim = a < 0 ? -1 : S.dim_of(a);
  return dim < 0 ? '-' : indices[static_cast<std::size_t>(dim)];
}

char parallel_index(const Indices& indices, const Spaces& spaces, const std::string& axis) {
  const char x = sharded_index(indices[0], *spaces[0], axis);
  const char w = sharded_index(indices[1], *spaces[1], axis);
  const char y = sharded_index(indices[2], *spaces[2], axis);
  if (x != '-' && x == y) return x;
  if (w != '-') return w;
  return x != '-' ? x : y;
}

/// An axis that shards a dim, balanced unless a split is given.
struct Sharding {
  std::string axis;
  std::optional<Split> split;

  bool operator==(const Sharding&) const = default;
};

/// One that some operand has, of this index, behind others.
struct Use {
  Sharding sharding;
  char index;
  std::vector<Sharding> before;
};

/// All axes that shard any operand, as X, then W, then Y list them.
std::vector<Use> uses_of(const Indices& indices, const Spaces& spaces) {
  std::vector<Use> uses;
  for (std::size_t k = 0; k < 3; ++k) {
    for (int dim = 0; dim < spaces[k]->dims(); ++dim) {
      std::vector<Sharding> before;
      for (const Shard& shard : spaces[k]->shards(dim)) {
        const std::string& name = spaces[k]->partition().axis(shard.axis).name;
        uses.push_back({{name, shard.split}, indices[k][static_cast<std::size_t>(dim)], before});
        before.push_back({name, shard.split});
      }
    }
  }
  return uses;
}

std::vector<std::string> in_order(const std::vector<Use>& uses, const Partition& grid) {
  std::vector<std::string> axes;
  for (const Use& use : uses) {
    const std::string& axis = use.sharding.axis;
    const bool listed = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!listed && grid.find(axis) >= 0) axes.push_back(axis);
  }
  return axes;
}

/// A split of one's own is kept where an operand has it for this index behind the same shardings; all
/// operands that have the index then share it.
std::optional<Split> split_of(const std::vector<Use>& uses, const Axis& axis, char index,
                              const std::vector<Sharding>& before) {
  for (const Use& use : uses) {
    const auto& [name, split] = use.sharding;
    // Each element is to be multiplied once; and another partition's axis of that name may have other
    // workers.
    if (!split || split->overlaps() || split->workers() != axis.extent) continue;
    if (name == axis.name && use.index == index && use.before == before) return split;
  }
  return std::nullopt;
}

/// The axes on which each worker computes with copies of its own: x, w and y are all Copied there.
std::vector<std::string> each_apart(const Spaces& spaces) {
  std::vector<std::string> apart;
  const Partition& grid = spaces[1]->partition();
  for (const Space* S : spaces) {
    if (S->partition() != grid) return apart;
  }
  for (const Axis& axis : grid.axes()) {
    const bool copied = std::all_of(spaces.begin(), spaces.end(), [&](const Space* S) {
      return S->placement(axis.name) == Placement::Copied;
    });
    if (copied) apart.push_back(axis.name);
  }
  return apart;
}

Space computing_space(const std::string& indices, const Space& S, const Partition& grid,
                      const std::vector<Use>& uses, const Parallel& parallel,
                      const std::vector<std::string>& apart) {
  Space Z(grid, S.shape());
  for (int dim = 0; dim < S.dims(); ++dim) Z = Z.unit(dim, S.unit_of(dim));
  for (const std::string& axis : apart) Z = Z.placed(axis, S.placement(axis));
  std::map<char, std::vector<Sharding>> before;
  std::vector<std::string> axes = in_order(uses, grid);
  for (const auto& [axis, index] : parallel) {  // a plan may choose an index that nothing shards there
    if (index != '-' && std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  for (const std::string& axis : axes) {
    const char index = parallel.at(axis);
    if (index == '-') continue;
    const std::optional<Split> split = split_of(uses, {axis, grid.extent(axis)}, index, before[index]);
    const std::size_t dim = indices.find(index);
    if (dim == std::string::npos)
      Z = Z.copied(axis);
    else
      Z = split ? Z.sharded(static_cast<int>(dim), axis, *split) : Z.sharded(static_cast<int>(dim), axis);
    before[index].push_back({axis, split});
  }
  return Z;
}

}  // namespace

Parallel parallel_by_rule(const Indices& indices, const Space& X, const Space& W, const Space& Y) {
  Parallel parallel;
  for (const Axis& axis : W.partition().axes()) {
    parallel[axis.name] = parallel_index(indices, {&X, &W, &Y}, axis.name);
  }
  return parallel;
}

Space as_terms(const Indices& indices, const Space& X, const Space& W, const Space& Y) {
  Space terms = Y;
  for (const auto& [axis, index] : parallel_by_rule(indices, X, W, Y)) {
    const bool summed = index != '-' && indices[2].find(index) == std::string::npos;
    if (summed && Y.partition().find(axis) >= 0) terms = terms.partial(axis);
  }
  return terms;
}

std::array<Operator, 3> reads_of(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                                 const Parallel& parallel) {
  const Space Ybar = dual(Y);
  const std::vector<Use> uses = uses_of(indices, {&X, &W, &Y});
  std::vector<std::string> apart = each_apart({&X, &W, &Y});
  std::erase_if(apart, [&](const std::string& axis) { return parallel.at(axis) != '-'; });
  const auto read = [&](std::size_t k, const Space& S) {
    return between(S, computing_space(indices[k], S, W.partition(), uses, parallel, apart));
  };
  return {read(0, X), read(1, W), read(2, Ybar)};
}

ContractionPlan plan_contraction(const Indices& indices, const Space& X, const Space& W, const Space& Y,
                                 const ContractionOptions& options) {
  RIESZ_CHECK(options.rounds >= 1, "contract ", spec_of(indices), ": ", options.rounds,
              " rounds; it is at least 1");
  RIESZ_CHECK(options.rounds == 1 || (!options.keep_x && !options.keep_w), "contract ", spec_of(indices),
              ": ", options.rounds,
              " rounds let go of what they gathered, so nothing is there to keep; ask for one of the two");
  RIESZ_CHECK(!options.result_type || options.compute_type, "contract ", spec_of(indices),
              ": a result type without a compute type; say in which type the products are made");
  const Parallel parallel =
      options.cheapest ? cheapest_parallel(indices, X, W, Y, options) : parallel_by_rule(indices, X, W, Y);
  ContractionPlan plan{indices, parallel, reads_of(indices, X, W, Y, parallel), options, std::nullopt};
  if (options.rounds > 1) plan.stream = stream_of(plan);
  return plan;
}

}  // namespace riesz::detail
