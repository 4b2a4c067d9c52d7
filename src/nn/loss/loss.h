// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

/// A sum over the global batch, of targets or of elements, and how many they are: the mean is (1.0 / count) *
/// sum, whatever the layout; never divide by ranks.
struct Loss {
  Vector sum;  ///< a scalar, Replicated on every axis
  std::int64_t count;

  /// sum/count; 0 of none, with gradients of 0.
  Vector mean() const { return (1.0 / static_cast<double>(count > 0 ? count : 1)) * sum; }
};

/// The sum of what each worker has of something that lies as S does, given as a tensor of one `shape` on all
/// of them: the shares of the axes that shard S are added, replicas count once; Replicated on every axis.
/// Cost: an AllReduce of the shape over the axes that shard S; backward moves nothing. Collective over those.
Vector add_shares(const Space& S, const std::vector<std::int64_t>& shape, const at::Tensor& share);

/// @throws Error naming `what`, the space and the axis or dim, where an element would count more than once or
/// is not there: S is Partial or Copied on an axis, or a split overlaps.
void check_counts_once(const std::string& what, const Space& S);

/// Σ of a loss over all elements: `local_sum` is the scalar sum over a worker's elements of prediction and
/// target, which it gets in one type, fp32 at least; the count is of all elements. Differentiable by both.
/// Cost: an AllReduce of one element over the axes that shard them; backward moves nothing.
/// @throws Error naming `what` and both spaces unless they are one; as `check_counts_once`.
Loss element_loss(const std::string& what, const Vector& prediction, const Vector& target,
                  const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& local_sum);

}  // namespace riesz
