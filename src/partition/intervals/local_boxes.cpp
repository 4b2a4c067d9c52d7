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
  if (S.partition() != T.partition()) return parts;
  const auto copies = [](const Space& X, int dim) { return dim >= 0 && X.copies(dim); };
  const auto terms = [](const Space& X, int dim) { return dim >= 0 && X.terms(dim); };
  for (int dim = 0; dim < S.dims(); ++dim) {
    Segments& part = parts[static_cast<std::size_t>(dim)];
    if (stays(S, rank, T, other, dim)) {
      part = {{{0, total(S.held(dim, S.partition().coordinates(rank)))}, 0}};  // local indices will do
      continue;
    }
    if (!(once == Overlap::copies ? S.copies(dim) : S.terms(dim))) continue;
    const Shard& shard = S.shards(dim).front();
    const int there = T.dim_of(shard.axis);
    const bool turns = once == Overlap::copies ? terms(T, there) : copies(T, there);
    if (turns || there < 0) continue;
    const int mine = S.partition().coordinate(rank, shard.axis);
    const int theirs = S.partition().coordinate(other, shard.axis);
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
