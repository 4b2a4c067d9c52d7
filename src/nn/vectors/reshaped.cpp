// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/reshaped.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::detail {
namespace {

using Shape = std::vector<std::int64_t>;

/// The finest groups with equal products; ones at the end go with the last.
std::vector<DimGroup> groups(const Shape& from, const Shape& to) {
  const int n = static_cast<int>(from.size());
  const int m = static_cast<int>(to.size());
  std::vector<DimGroup> found;
  int i = 0;
  int j = 0;
  while (i < n && j < m) {
    DimGroup group{i, i + 1, j, j + 1};
    std::int64_t a = from[static_cast<std::size_t>(i++)];
    std::int64_t b = to[static_cast<std::size_t>(j++)];
    while (a != b && (i < n || j < m)) {
      if (j == m || (a < b && i < n))
        a *= from[static_cast<std::size_t>(i++)];
      else
        b *= to[static_cast<std::size_t>(j++)];
    }
    group.from_end = i;
    group.to_end = j;
    found.push_back(group);
  }
  if (found.empty()) found.push_back({0, 0, 0, 0});
  found.back().from_end = n;
  found.back().to_end = m;
  return found;
}

std::int64_t product(const Shape& shape, int begin, int end) {
  std::int64_t n = 1;
  for (int dim = begin; dim < end; ++dim) n *= shape[static_cast<std::size_t>(dim)];
  return n;
}

/// The first of these dims that has more than one element or is sharded, or `end`.
int leading(const Space& X, int begin, int end) {
  int dim = begin;
  while (dim < end && X.shape()[static_cast<std::size_t>(dim)] == 1 && X.shards(dim).empty()) ++dim;
  return dim;
}

/// The first of these dims whose rows units of the flat dim are whole numbers of, dims of one element left
/// out else.
int first_of_rows(const Shape& shape, int begin, int end, std::int64_t unit) {
  int dim = begin;
  while (dim + 1 < end && shape[static_cast<std::size_t>(dim)] == 1) {
    const std::int64_t m = product(shape, dim + 1, end);
    if (m != 0 && unit % m == 0) break;
    ++dim;
  }
  return dim;
}

std::string axes_of(const Space& X, int dim) {
  std::string names;
  for (const Shard& shard : X.shards(dim)) {
    names += (names.empty() ? "axis " : " and ") + X.partition().axis(shard.axis).name;
  }
  return names;
}

/// The intervals times `rows`, over `m`.
std::vector<Intervals> scaled(const Split& split, std::int64_t rows, std::int64_t m) {
  std::vector<Intervals> held;
  for (int worker = 0; worker < split.workers(); ++worker) {
    Intervals intervals;
    for (const Interval& i : split.held(worker)) intervals.push_back({i.begin * rows / m, i.end * rows / m});
    held.push_back(std::move(intervals));
  }
  return held;
}

Split split_like(const Split& split, std::int64_t n, const std::vector<Intervals>& held) {
  return split.overlaps() ? Split::covering(n, held) : Split::pieces(n, held);
}

[[noreturn]] void refuse(const Space& X, const Shape& shape, int dim, const std::string& why) {
  throw_error(concat("reshape to ", at::IntArrayRef(shape), ": ", axes_of(X, dim), " shards dim ", dim,
                     " of ", to_string(X), ", and ", why));
}

/// Are the pieces of a dim, each of `rows` elements, whole numbers of m?
void check_rows(const Space& X, const Shape& shape, int dim, std::int64_t rows, std::int64_t m) {
  if (m == 0 || X.unit_of(dim) * rows % m == 0) return;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    for (const Interval& i : X.held(dim, X.partition().coordinates(rank))) {
      if (i.size() == 0 || (i.begin * rows % m == 0 && i.end * rows % m == 0)) continue;
      refuse(
          X, shape, dim,
          concat("cuts it within the ", m, " elements of a row of the new later dims; give the dim units of ",
                 m, " with Space::unit, or bring x to a space that does not shard it with between(X, Y)"));
    }
  }
}

/// Y with the axes of X's leading dim of a group on the group's leading dim in Y.
Space with_group(Space Y, const Space& X, const DimGroup& group) {
  const Shape& shape = Y.shape();
  const int from = leading(X, group.from, group.from_end);
  for (int dim = group.from; dim < group.from_end; ++dim) {
    if (dim == from || X.shards(dim).empty()) continue;
    refuse(X, shape, dim,
           concat("it is not the first of the dims that become one; permute it to the front, or bring x "
                  "to a space that does not shard it with between(X, Y)"));
  }
  if (from == group.from_end) return Y;
  RIESZ_CHECK(group.to < group.to_end, "reshape to ", at::IntArrayRef(shape), ": no dim is left for ",
              axes_of(X, from), ", which shards dim ", from, " of ", to_string(X),
              "; bring x to a space that does not with between(X, Y)");
  const std::int64_t rows = product(X.shape(), from + 1, group.from_end);
  const std::int64_t unit = X.unit_of(from) * rows;
  const int to = first_of_rows(shape, group.to, group.to_end, unit);
  const std::int64_t m = product(shape, to + 1, group.to_end);
  const bool empty = rows == 0 || m == 0;
  if (!empty && unit % m == 0) Y = Y.unit(to, unit / m);
  if (X.shards(from).empty()) return Y;
  check_rows(X, shape, from, rows, m);
  for (const Shard& shard : X.shards(from)) {
    const std::string& axis = X.partition().axis(shard.axis).name;
    if (!shard.split || empty) {
      Y = Y.sharded(to, axis);
      continue;
    }
    const std::vector<Intervals> held = scaled(*shard.split, rows, m);
    Y = Y.sharded(to, axis, split_like(*shard.split, shard.split->extent() * rows / m, held), shard.terms);
  }
  return Y;
}

/// What a worker holds of the row-major indices of dims [begin, end), neighbours put together.
Intervals flat(const Space& X, int begin, int end, const std::vector<int>& coordinates) {
  Intervals held{{0, 1}};
  for (int dim = begin; dim < end; ++dim) {
    const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
    const Intervals here = X.held(dim, coordinates);
    Intervals next;
    for (const Interval& outer : held) {
      for (std::int64_t row = outer.begin; row < outer.end; ++row) {
        for (const Interval& i : here) {
          const Interval part{row * n + i.begin, row * n + i.end};
          if (part.size() == 0) continue;
          if (!next.empty() && next.back().end == part.begin)
            next.back().end = part.end;
          else
            next.push_back(part);
        }
      }
    }
    held = std::move(next);
  }
  return held;
}

/// The axes along which overlapping splits of these dims have copies, or terms.
std::vector<std::pair<int, bool>> overlaps(const Space& X, int begin, int end) {
  std::vector<std::pair<int, bool>> axes;
  for (int dim = begin; dim < end; ++dim) {
    if (X.copies(dim) || X.terms(dim)) axes.emplace_back(X.shards(dim).front().axis, X.terms(dim));
  }
  return axes;
}

bool same_placements(const Space& X, const Space& Y) {
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    if (X.placement(a) != Y.placement(a)) return false;
  }
  return true;
}

}  // namespace

Space reshaped(const Space& X, const std::vector<std::int64_t>& shape, const std::vector<DimGroup>& groups) {
  Space Y(X.partition(), shape);
  RIESZ_CHECK(Y.concrete() && Y.numel() == X.numel(), "reshape to ", at::IntArrayRef(shape), ": ",
              to_string(X), " has ", X.numel(), " elements");
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    if (placement != Placement::Sharded) Y = Y.placed(axis.name, placement);
  }
  for (const DimGroup& group : groups) Y = with_group(std::move(Y), X, group);
  return Y;
}

Space reshaped(const Space& X, const std::vector<std::int64_t>& shape) {
  return reshaped(X, shape, groups(X.shape(), shape));
}

void check_same_elements(const Space& X, const Space& Y) {
  bool same =
      X.partition() == Y.partition() && Y.concrete() && X.numel() == Y.numel() && same_placements(X, Y);
  if (same) {
    for (const DimGroup& group : groups(X.shape(), Y.shape())) {
      same = same && overlaps(X, group.from, group.from_end) == overlaps(Y, group.to, group.to_end);
      for (int rank = 0; same && rank < X.partition().size(); ++rank) {
        const std::vector<int> at = X.partition().coordinates(rank);
        same = flat(X, group.from, group.from_end, at) == flat(Y, group.to, group.to_end, at);
      }
    }
  }
  RIESZ_CHECK(same, "reshape: workers hold other elements in\n  ", to_string(X), "\nthan in\n  ",
              to_string(Y),
              "\nbring x with between(X, Y) to a space of its shape where they hold these, then reshape it");
}

}  // namespace riesz::detail
