// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/intervals/local_boxes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "riesz/partition/intervals/segments.h"
#include "riesz/partition/vector.h"

namespace riesz {
namespace {

std::int64_t elements(const std::vector<CommonBox>& boxes) {
  std::int64_t sum = 0;
  for (const CommonBox& box : boxes) sum += volume(box.in_a);
  return sum;
}

/// What this worker has in X for itself in Y.
std::vector<CommonBox> common_here(const Space& X, const Space& Y) {
  const int me = X.partition().rank();
  return detail::common_boxes(detail::exchanged_segments(X, me, Overlap::copies, Y, me),
                              detail::exchanged_segments(Y, me, Overlap::terms, X, me));
}

/// Do both workers hold the same of a dim that lies alike in S and T?
bool stays(const Space& S, int rank, const Space& T, int other, int dim) {
  if (S.shards(dim) != T.shards(dim)) return false;
  for (const Shard& shard : S.shards(dim)) {
    if (S.partition().coordinate(rank, shard.axis) != S.partition().coordinate(other, shard.axis))
      return false;
  }
  return true;
}

bool overlaps(const Space& S, int dim, Overlap kind) {
  return kind == Overlap::copies ? S.copies(dim) : S.terms(dim);
}

/// Where S overlaps in a dim, and T is at the other end: does a worker keep all that it can?
bool keeps_its_own(const Space& S, int dim, Overlap once, const Space& T) {
  const auto turns = [&](int there) {
    return overlaps(T, there, once == Overlap::copies ? Overlap::terms : Overlap::copies);
  };
  if (S.partition() == T.partition()) {
    const int there = T.dim_of(S.shards(dim).front().axis);
    return there >= 0 && !turns(there);
  }
  for (int there = 0; there < T.dims(); ++there) {
    if (turns(there)) return false;
  }
  const std::vector<Axis>& axes = T.partition().axes();  // replicas get all from one
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) {
    if (T.placement(axis) == Placement::Replicated && axes[static_cast<std::size_t>(axis)].extent > 1)
      return false;
  }
  return true;
}

at::Tensor take(const at::Tensor& x, const std::vector<CommonBox>& boxes, const Space& Y) {
  const at::IntArrayRef shape(Y.local_shape());
  const bool whole = elements(boxes) == c10::multiply_integers(shape);
  if (boxes.size() == 1 && whole) return narrow(x, boxes.front().in_a);
  const at::TensorOptions options = x.options().memory_format(at::MemoryFormat::Contiguous);
  const at::Tensor y = whole ? at::empty(shape, options) : at::zeros(shape, options);
  for (const CommonBox& box : boxes) narrow(y, box.in_b).copy_(narrow(x, box.in_a));
  return y;
}

}  // namespace

std::vector<Segments> detail::held_segments(const Space& S, int rank, Overlap once) {
  const std::vector<int> coordinates = S.partition().coordinates(rank);
  std::vector<Segments> parts;
  for (int dim = 0; dim < S.dims(); ++dim) {
    const bool first = once == Overlap::copies ? S.copies(dim) : S.terms(dim);
    const int axis = first ? S.shards(dim).front().axis : 0;
    parts.push_back(first ? S.shards(dim).front().split->owned(coordinates[static_cast<std::size_t>(axis)])
                          : segments(S.held(dim, coordinates)));
  }
  return parts;
}

std::vector<Segments> detail::exchanged_segments(const Space& S, int rank, Overlap once, const Space& T,
                                                 int other) {
  std::vector<Segments> parts = detail::held_segments(S, rank, once);
  const bool one_partition = S.partition() == T.partition();
  const int other_in_S = one_partition ? other : S.partition().rank_in(T.partition().world_rank(other));
  if (other_in_S < 0) return parts;
  for (int dim = 0; dim < S.dims(); ++dim) {
    Segments& part = parts[static_cast<std::size_t>(dim)];
    if (one_partition && stays(S, rank, T, other, dim)) {
      part = {{{0, total(S.held(dim, S.partition().coordinates(rank)))}, 0}};  // local indices will do
      continue;
    }
    if (!overlaps(S, dim, once) || !keeps_its_own(S, dim, once, T)) continue;
    const Shard& shard = S.shards(dim).front();
    const int mine = S.partition().coordinate(rank, shard.axis);
    const int theirs = S.partition().coordinate(other_in_S, shard.axis);
    part = mine == theirs ? detail::first_occurrences(segments(shard.split->held(mine)))
                          : detail::subtract(part, shard.split->held(theirs));
  }
  return parts;
}

at::Tensor take_boxes(const at::Tensor& global, const Space& Y) {
  std::vector<Segments> whole;
  for (const std::int64_t n : Y.shape()) whole.push_back({{{0, n}, 0}});
  return take(global,
              detail::common_boxes(whole, detail::held_segments(Y, Y.partition().rank(), Overlap::terms)), Y);
}

at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y) {
  return take(x, common_here(X, Y), Y);
}

at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y) {
  const at::Tensor y = at::zeros(Y.local_shape(), x.options().memory_format(at::MemoryFormat::Contiguous));
  bool adds = false;
  for (int dim = 0; dim < X.dims(); ++dim) adds = adds || X.terms(dim);
  for (const CommonBox& box : common_here(X, Y)) {
    const at::Tensor place = narrow(y, box.in_b);
    if (adds)
      place.add_(narrow(x, box.in_a));
    else
      place.copy_(narrow(x, box.in_a));
  }
  return y;
}

}  // namespace riesz
