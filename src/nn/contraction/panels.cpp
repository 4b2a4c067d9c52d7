// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/panels.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

const char* const kOperands[] = {"x", "w", "y"};

/// Does reading S as Z bring together, over some axis, what its workers hold of a dim?
bool gathers(const Space& S, const Space& Z, std::size_t dim) {
  for (const Shard& shard : S.shards(static_cast<int>(dim))) {
    const Axis& axis = S.partition().axis(shard.axis);
    const int there = Z.partition().find(axis.name);
    if (axis.extent > 1 && (there < 0 || Z.dim_of(there) != static_cast<int>(dim))) return true;
  }
  return false;
}

/// The index that most operands gather, or '-'.
char streamed_index(const ContractionPlan& plan) {
  char most = '-';
  std::ptrdiff_t operands = 0;
  for (const std::string& letters : plan.indices) {
    for (const char index : letters) {
      std::ptrdiff_t gathering = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t dim = plan.indices[k].find(index);
        gathering +=
            dim != std::string::npos && gathers(plan.read[k].domain(), plan.read[k].range(), dim) ? 1 : 0;
      }
      if (gathering > operands) most = index;
      operands = std::max(operands, gathering);
    }
  }
  return most;
}

/// How long the parts of a panel are that the workers of one axis hold.
Split parts(const Space& S, int dim, const Shard& shard, const Interval& panel, const std::string& whose) {
  const int workers = S.partition().axis(shard.axis).extent;
  const Intervals whole{{0, S.shape()[static_cast<std::size_t>(dim)]}};
  std::vector<std::int64_t> sizes;
  std::int64_t end = 0;
  for (int worker = 0; worker < workers; ++worker) {
    const Intervals held = S.piece_of(dim, 0, whole, worker);
    const bool in_order = held.empty() || (held.size() == 1 && (held[0].size() == 0 || held[0].begin == end));
    RIESZ_CHECK(in_order, "rounds stream ", whose, " of\n  ", to_string(S),
                "\nwhere each worker must hold one interval, in the workers' order; ask for one round");
    end = held.empty() || held[0].size() == 0 ? end : held[0].end;
    sizes.push_back(held.empty() ? 0 : std::max<std::int64_t>(0, intersect(held[0], panel).size()));
  }
  return Split::sizes(sizes);
}

/// S for a panel of one dim: who holds an element of it in S holds it here.
Space restricted(const Space& S, int dim, const Interval& panel, const std::string& whose) {
  std::vector<std::int64_t> shape = S.shape();
  shape[static_cast<std::size_t>(dim)] = panel.size();
  Space P(S.partition(), shape);
  for (int d = 0; d < S.dims(); ++d) {
    if (d != dim) P = P.unit(d, S.unit_of(d));
    RIESZ_CHECK(d != dim || S.shards(d).size() <= 1, "rounds stream ", whose, " of\n  ", to_string(S),
                "\nwhich at most one axis may shard; ask for one round");
    for (const Shard& shard : S.shards(d)) {
      const std::string& axis = S.partition().axis(shard.axis).name;
      if (d == dim)
        P = P.sharded(d, axis, parts(S, d, shard, panel, whose));
      else
        P = P.sharded_like(d, axis, shard);
    }
  }
  for (const Axis& axis : S.partition().axes()) {
    const Placement placement = S.placement(axis.name);
    if (placement != Placement::Sharded) P = P.placed(axis.name, placement);
  }
  return P;
}

std::int64_t extent_of(const ContractionPlan& plan, char index) {
  for (std::size_t k = 0;; ++k) {
    const std::size_t dim = plan.indices[k].find(index);
    if (dim != std::string::npos) return plan.read[k].domain().shape()[dim];
  }
}

}  // namespace

std::optional<Stream> stream_of(const ContractionPlan& plan) {
  Stream stream{streamed_index(plan), {}, {}};
  if (stream.index == '-') return std::nullopt;
  const std::int64_t n = extent_of(plan, stream.index);
  const int rounds = static_cast<int>(std::min<std::int64_t>(plan.options.rounds, n));
  if (rounds <= 1) return std::nullopt;
  for (int panel = 0; panel < rounds; ++panel)
    stream.panels.push_back(balanced_interval(n, rounds, 1, panel));
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t dim = plan.indices[k].find(stream.index);
    if (dim == std::string::npos) continue;
    const std::string whose = concat("index ", stream.index, " of ", kOperands[k]);
    for (const Interval& panel : stream.panels) {
      const auto part = [&](const Space& S) { return restricted(S, static_cast<int>(dim), panel, whose); };
      stream.read[k].push_back(between(part(plan.read[k].domain()), part(plan.read[k].range())));
    }
  }
  return stream;
}

at::Tensor panel_of(const ContractionPlan& plan, std::size_t k, std::size_t panel, const at::Tensor& stored) {
  if (!plan.streams(k)) return stored;
  const Space& S = plan.read[k].domain();
  if (!S.partition().active()) return stored;
  const std::size_t dim = plan.indices[k].find(plan.stream->index);
  const Intervals all = S.boxes(S.partition().rank())[dim];  // one interval, or none
  const Interval held = all.empty() ? Interval{0, 0} : all.front();
  const Interval common = intersect(held, plan.stream->panels[panel]);
  const std::int64_t size = std::max<std::int64_t>(0, common.size());
  return stored.narrow(static_cast<std::int64_t>(dim), size == 0 ? 0 : common.begin - held.begin, size);
}

}  // namespace riesz::detail
