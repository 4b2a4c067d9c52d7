// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/local_boxes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "riesz/partition/segments.h"
#include "riesz/partition/vector.h"

namespace riesz {
namespace {

std::int64_t elements(const std::vector<CommonBox>& boxes) {
  std::int64_t sum = 0;
  for (const CommonBox& box : boxes) sum += volume(box.in_a);
  return sum;
}

std::vector<Segments> held_here(const Space& S, Overlap once) { return held(S, S.partition().rank(), once); }

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

std::vector<Segments> held(const Space& S, int rank, Overlap once) {
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

at::Tensor take_boxes(const at::Tensor& global, const Space& Y) {
  std::vector<Segments> whole;
  for (const std::int64_t n : Y.shape()) whole.push_back({{{0, n}, 0}});
  return take(global, common(whole, held_here(Y, Overlap::terms)), Y);
}

at::Tensor take_boxes(const at::Tensor& x, const Space& X, const Space& Y) {
  return take(x, common(held_here(X, Overlap::copies), held_here(Y, Overlap::terms)), Y);
}

at::Tensor put_boxes(const at::Tensor& x, const Space& X, const Space& Y) {
  const at::Tensor y = at::zeros(Y.local_shape(), x.options().memory_format(at::MemoryFormat::Contiguous));
  bool adds = false;
  for (int dim = 0; dim < X.dims(); ++dim) adds = adds || X.terms(dim);
  for (const CommonBox& box : common(held_here(X, Overlap::copies), held_here(Y, Overlap::terms))) {
    const at::Tensor place = narrow(y, box.in_b);
    if (adds)
      place.add_(narrow(x, box.in_a));
    else
      place.copy_(narrow(x, box.in_a));
  }
  return y;
}

}  // namespace riesz
