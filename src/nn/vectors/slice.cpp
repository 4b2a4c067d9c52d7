// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/cat.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/dims.h"
#include "riesz/nn/vectors/following_space.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

std::int64_t extent(const Space& X, int dim) { return X.shape()[static_cast<std::size_t>(dim)]; }

/// The one shard of a dim that makes a difference. @throws Error if there are several.
std::optional<Shard> only_shard(const char* what, const Space& X, int dim) {
  std::optional<Shard> only;
  for (const Shard& shard : X.shards(dim)) {
    if (!X.counts(shard.axis)) continue;
    RIESZ_CHECK(
        !only, what, " of dim ", dim, " of ", to_string(X), ": axes ", X.partition().axis(only->axis).name,
        " and ", X.partition().axis(shard.axis).name,
        " shard it, and one alone can have any pieces; bring the vector to such a space with between(X, Y)");
    only = shard;
  }
  return only;
}

/// By coordinate of the axis, what a worker holds of a dim that this axis alone cuts.
std::vector<Intervals> held_by(const Space& X, int dim, const Shard& shard) {
  std::vector<Intervals> held;
  std::vector<int> coordinates(X.partition().axes().size(), 0);
  for (int i = 0; i < X.partition().axis(shard.axis).extent; ++i) {
    coordinates[static_cast<std::size_t>(shard.axis)] = i;
    held.push_back(X.held(dim, coordinates));
  }
  return held;
}

/// Sizes, where each worker holds one interval after the one before; else the intervals.
Split split_of(std::int64_t n, const std::vector<Intervals>& held, bool overlaps) {
  if (overlaps) return Split::covering(n, held);
  std::vector<std::int64_t> sizes;
  std::int64_t end = 0;
  for (const Intervals& intervals : held) {
    sizes.push_back(0);
    for (const Interval& i : intervals) {
      if (i.size() > 0 && i.begin != end) return Split::pieces(n, held);
      if (i.size() > 0) end = i.end;
      sizes.back() += i.size();
    }
  }
  return Split::sizes(sizes);
}

/// X with n elements in `dim`, in these units, that `shard` cuts in these pieces; axes of one worker that
/// shard it are Replicated.
Space with_dim(const Space& X, int dim, std::int64_t n, std::int64_t unit, const std::optional<Shard>& shard,
               const std::vector<Intervals>& held) {
  Space Y = insert_dim(select_dims(X, detail::other_dims(X, {dim})), dim, n, unit);
  if (!shard) return Y;
  return Y.sharded(dim, X.partition().axis(shard->axis).name, split_of(n, held, shard->overlaps()),
                   shard->terms);
}

Space sliced(const Space& X, int dim, std::int64_t begin, std::int64_t end) {
  const std::int64_t unit = begin % X.unit_of(dim) == 0 && end % X.unit_of(dim) == 0 ? X.unit_of(dim) : 1;
  const std::optional<Shard> shard = only_shard("slice", X, dim);
  std::vector<Intervals> kept;
  if (shard) {
    for (const Intervals& held : held_by(X, dim, *shard)) {
      kept.emplace_back();
      for (const Interval& i : held) {
        const Interval both = intersect(i, {begin, end});
        if (both.size() > 0) kept.back().push_back({both.begin - begin, both.end - begin});
      }
    }
  }
  return with_dim(X, dim, end - begin, unit, shard, kept);
}

/// Of what this worker holds of a dim, what is in [begin, end).
at::Tensor sliced_local(const Vector& x, int dim, std::int64_t begin, std::int64_t end) {
  const Space& X = x.space();
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (const Interval& i : X.held(dim, X.partition().coordinates(X.partition().rank()))) {
    const Interval both = intersect(i, {begin, end});
    if (both.size() > 0) parts.push_back(x.local().narrow(dim, first + both.begin - i.begin, both.size()));
    first += i.size();
  }
  if (parts.empty()) return x.local().narrow(dim, 0, 0);
  return parts.size() == 1 ? parts.front() : at::cat(parts, dim);
}

/// @throws Error unless the spaces differ in `dim` alone, and there not in axes.
void check_beside(const Space& X, const Space& Y, int dim) {
  bool alike = X.partition() == Y.partition() && X.dims() == Y.dims();
  if (alike) {
    const std::vector<int> others = detail::other_dims(X, {dim});
    const std::optional<Shard> x = only_shard("cat", X, dim);
    const std::optional<Shard> y = only_shard("cat", Y, dim);
    const bool same_axis = x.has_value() == y.has_value() && (!x || x->axis == y->axis);
    alike = same_axis && select_dims(X, others) == select_dims(Y, others);
  }
  const bool mixed = alike && ((X.copies(dim) && Y.terms(dim)) || (X.terms(dim) && Y.copies(dim)));
  bool same_shape = X.dims() == Y.dims();
  for (int d = 0; same_shape && d < X.dims(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    same_shape = d == dim || X.shape()[at] == Y.shape()[at];
  }
  RIESZ_CHECK(alike && !mixed, "cat along dim ", dim,
              " needs vectors of spaces that differ in the extent of that dim, not\n  ", to_string(X), "\n  ",
              to_string(Y), "\n",
              same_shape ? "bring one beside the other with between(X, Y)"
                         : "their other dims differ, which no between(X, Y) mends: slice or reshape one");
}

/// The space of vectors of these, one after another.
Space joined(const std::vector<Vector>& xs, int dim) {
  std::optional<Shard> shard = only_shard("cat", xs.front().space(), dim);
  std::vector<Intervals> held;
  std::int64_t n = 0;
  std::int64_t unit = xs.front().space().unit_of(dim);
  for (const Vector& x : xs) {
    const Space& X = x.space();
    check_beside(xs.front().space(), X, dim);
    unit = std::gcd(unit, X.unit_of(dim));
    const std::optional<Shard> here = only_shard("cat", X, dim);
    if (here && (!shard || here->overlaps())) shard = here;
    if (here) {
      const std::vector<Intervals> more = held_by(X, dim, *here);
      held.resize(more.size());
      for (std::size_t worker = 0; worker < more.size(); ++worker) {
        for (const Interval& i : more[worker]) held[worker].push_back({n + i.begin, n + i.end});
      }
    }
    n += extent(X, dim);
  }
  return with_dim(xs.front().space(), dim, n, unit, shard, held);
}

}  // namespace

Vector slice(const Vector& x, int dim, std::int64_t begin, std::int64_t end) {
  const Space& X = x.space();
  const int d = detail::checked_dim("slice", X, dim);
  RIESZ_CHECK(begin >= 0 && begin <= end && end <= extent(X, d), "slice: dim ", d, " of ", to_string(X),
              " has no elements [", begin, ", ", end, ")");
  if (begin == 0 && end == extent(X, d)) return x;
  static auto& plans = *new detail::PlanCache<detail::FollowingSpace>;
  const auto plan = detail::following(plans, X, {d, begin, end}, [&] { return sliced(X, d, begin, end); });
  return {plan->Y, X.partition().active() ? sliced_local(x, d, begin, end) : x.local(), x.is_constant()};
}

Vector cat(const std::vector<Vector>& xs, int dim) {
  RIESZ_CHECK(!xs.empty(), "cat of no vectors: of which space?");
  const int d = detail::checked_dim("cat", xs.front().space(), dim);
  if (xs.size() == 1) return xs.front();
  const Space Y = joined(xs, d);
  std::vector<at::Tensor> locals;
  for (const Vector& x : xs) locals.push_back(x.local());
  const bool constant = std::all_of(xs.begin(), xs.end(), [](const Vector& x) { return x.is_constant(); });
  return detail::local_op(Y, locals, constant, [&] { return at::cat(locals, d); });
}

}  // namespace riesz
