// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/primitive.h"

#include <utility>

namespace riesz {
namespace {

std::string end_of(const Space& space, int axis) {
  const int dim = space.dim_of(axis);
  return dim < 0 ? to_string(space.placement(axis)) : "Sharded(" + std::to_string(dim) + ")";
}

}  // namespace

Primitive::Primitive(std::string name, Space domain, Space range, std::vector<int> axes)
    : name_(std::move(name)), domain_(std::move(domain)), range_(std::move(range)), axes_(std::move(axes)) {}

std::string to_string(const Primitive& primitive) {
  const Space& X = primitive.domain();
  const Space& Y = primitive.range();
  const bool same_grid = X.partition() == Y.partition();
  const Partition& grid = X.partition().size() > Y.partition().size() ? X.partition() : Y.partition();
  std::string over;
  std::string ends;
  for (const int a : primitive.axes()) {
    over += (over.empty() ? " over " : ", ") + grid.axes()[static_cast<std::size_t>(a)].name;
    if (same_grid) ends += (ends.empty() ? "" : ", ") + end_of(X, a) + " -> " + end_of(Y, a);
  }
  if (!same_grid) ends = to_string(X.partition()) + " -> " + to_string(Y.partition());
  return primitive.name() + over + ": " + ends;
}

at::Tensor narrow(const at::Tensor& tensor, const Box& box) {
  at::Tensor part = tensor;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    const auto d = static_cast<std::int64_t>(dim);
    if (box[dim].size() != part.size(d)) part = part.narrow(d, box[dim].begin, box[dim].size());
  }
  return part;
}

Box overlap(const Box& a, const Box& b) {
  Box both;
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    const Interval common = intersect(a[dim], b[dim]);
    both.push_back({common.begin - a[dim].begin, common.end - a[dim].begin});
  }
  return both;
}

}  // namespace riesz
