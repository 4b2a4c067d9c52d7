// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/parts.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "riesz/comm/resolved.h"
#include "riesz/partition/pairing.h"

namespace riesz::testing {
namespace {

/// [dims, size of each dim] of every worker's tensor.
std::vector<std::vector<std::int64_t>> all_shapes(const Partition& partition, const at::Tensor& mine) {
  constexpr std::int64_t most_dims = 8;
  at::Tensor shape = at::zeros({1 + most_dims}, at::kLong);
  auto* numbers = shape.mutable_data_ptr<std::int64_t>();
  numbers[0] = mine.dim();
  std::copy(mine.sizes().begin(), mine.sizes().end(), numbers + 1);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const at::Tensor& theirs : collect("testing", partition, shape)) {
    const auto* n = theirs.const_data_ptr<std::int64_t>();
    shapes.emplace_back(n + 1, n + 1 + n[0]);
  }
  return shapes;
}

at::Tensor held_indices(const Space& X, int dim, const std::vector<int>& coordinates) {
  std::vector<std::int64_t> indices;
  for (const Interval& interval : X.held(dim, coordinates)) {
    for (std::int64_t i = interval.begin; i < interval.end; ++i) indices.push_back(i);
  }
  return at::tensor(indices, at::kLong);
}

/// Of each local index of a dim that overlaps: is it the first that anyone holds of its global one?
at::Tensor first_copies(const Space& X, int dim, int rank) {
  std::vector<int> coordinates = X.partition().coordinates(rank);
  const auto axis = static_cast<std::size_t>(X.shards(dim).front().axis);
  const int mine = coordinates[axis];
  std::set<std::int64_t> seen;
  std::vector<std::int64_t> first;
  for (coordinates[axis] = 0; coordinates[axis] <= mine; ++coordinates[axis]) {
    first.clear();
    const at::Tensor held = held_indices(X, dim, coordinates);
    for (std::int64_t i = 0; i < held.numel(); ++i) {
      first.push_back(seen.insert(held.const_data_ptr<std::int64_t>()[i]).second ? 1 : 0);
    }
  }
  return at::tensor(first, at::kLong);
}

/// Is each copy of an element the same wherever splits overlap?
bool overlaps_agree(const Space& X, const std::vector<at::Tensor>& parts) {
  bool any = false;
  for (int dim = 0; dim < X.dims(); ++dim) any = any || X.copies(dim);
  for (int dim = 0; dim < X.dims(); ++dim) any = any && !X.terms(dim);
  for (const Axis& axis : X.partition().axes()) any = any && X.placement(axis.name) != Placement::Partial;
  if (!any) return true;
  const at::Tensor v = meant(X, parts).view({-1});
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    const at::Tensor expected = v.index_select(0, global_indices(X, rank).view({-1}));
    if (!at::equal(expected, parts[static_cast<std::size_t>(rank)].reshape({-1}))) return false;
  }
  return true;
}

}  // namespace

std::vector<at::Tensor> all_parts(const Partition& partition, const at::Tensor& mine) {
  std::int64_t most = 0;
  const std::vector<std::vector<std::int64_t>> shapes = all_shapes(partition, mine);
  for (const auto& shape : shapes) most = std::max(most, at::zeros(shape, at::kByte).numel());
  at::Tensor padded = at::zeros({most}, mine.options());
  if (partition.active()) padded.narrow(0, 0, mine.numel()).copy_(mine.detach().reshape({mine.numel()}));
  std::vector<at::Tensor> parts;
  for (const at::Tensor& theirs : collect("testing", partition, padded)) {
    const auto& shape = shapes[parts.size()];
    const std::int64_t count = at::zeros(shape, at::kByte).numel();
    parts.push_back(theirs.narrow(0, 0, count).view(shape));
  }
  return parts;
}

at::Tensor meant(const Space& X, const std::vector<at::Tensor>& parts) {
  at::Tensor v = at::zeros(X.shape(), parts.front().options());
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    if (X.leader(rank, {Placement::Replicated, Placement::Copied}) != rank) continue;
    at::Tensor part = parts[static_cast<std::size_t>(rank)];
    for (int dim = 0; dim < X.dims(); ++dim) {
      std::vector<std::int64_t> shape(static_cast<std::size_t>(X.dims()), 1);
      shape[static_cast<std::size_t>(dim)] = part.size(dim);
      if (X.copies(dim)) part = part.mul(first_copies(X, dim, rank).view(shape).to(part.scalar_type()));
    }
    v.view({-1}).index_add_(0, global_indices(X, rank).view({-1}), part.reshape({-1}));
  }
  return v;
}

at::Tensor meant(const Vector& x) {
  const std::vector<at::Tensor> parts = all_parts(x.space().partition(), x.local());
  return parts.empty() ? x.local() : meant(x.space(), parts);
}

at::Tensor global_indices(const Space& X, int rank) {
  at::Tensor indices = at::zeros({}, at::kLong);
  const std::vector<int> coordinates = X.partition().coordinates(rank);
  for (int dim = 0; dim < X.dims(); ++dim) {
    const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
    indices = indices.unsqueeze(-1).mul(n).add(held_indices(X, dim, coordinates));
  }
  return indices;
}

bool belongs(const Space& X, const std::vector<at::Tensor>& parts, bool equal_copies) {
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    const at::Tensor& part = parts.at(static_cast<std::size_t>(rank));
    const int leader = equal_copies ? X.leader(rank, {Placement::Replicated, Placement::Copied})
                                    : X.leader(rank, {Placement::Replicated});
    if (part.sizes() != at::IntArrayRef(X.local_shape(rank))) return false;
    if (!same_bits(part, parts[static_cast<std::size_t>(leader)])) return false;
  }
  return !equal_copies || overlaps_agree(X, parts);
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const at::Tensor left = resolved(a.detach()).contiguous();
  const at::Tensor right = resolved(b.detach()).contiguous();
  return left.numel() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

std::string text_of(const at::Tensor& tensor) {
  const at::Tensor numbers = resolved(tensor.detach());
  const at::Tensor real = numbers.is_complex() ? at::view_as_real(numbers) : numbers;
  const at::Tensor flat = real.reshape({real.numel()}).to(at::kDouble);
  std::ostringstream text;
  text.precision(17);
  text << tensor.sizes() << " of " << tensor.scalar_type() << ": [";
  const std::int64_t shown = std::min<std::int64_t>(flat.numel(), 40);
  for (std::int64_t i = 0; i < shown; ++i) text << (i == 0 ? "" : ", ") << flat[i].item<double>();
  text << (shown < flat.numel() ? ", …]" : "]");
  return text.str();
}

}  // namespace riesz::testing
