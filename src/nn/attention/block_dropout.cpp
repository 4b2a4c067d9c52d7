// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/block_dropout.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/ones.h>

#include <string>

namespace riesz {
namespace {

/// A space that its first worker holds these boxes of; a vector in it is dropped by its global indices.
Space holding(const std::vector<std::int64_t>& shape, const Boxes& boxes) {
  std::vector<Axis> axes;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) axes.push_back({std::to_string(dim), 2});
  Space X(Partition::simulated(1 << shape.size()).grid(axes), shape);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const Split others = Split::covering(shape[dim], {boxes[dim], {{0, shape[dim]}}});
    X = X.sharded(static_cast<int>(dim), axes[dim].name, others);
  }
  return X;
}

}  // namespace

BlockDropout::BlockDropout(const Dropout& drop, const std::vector<std::int64_t>& shape, const Boxes& boxes,
                           const at::TensorOptions& options) {
  const Space X = holding(shape, boxes);
  const at::Tensor made = drop(Vector(X, at::ones(X.local_shape(), options))).local();
  kept_ = made.ne(0);
  factor_ = made.numel() == 0 ? made.sum() : at::amax(made);
}

at::Tensor BlockDropout::factors(at::ScalarType type) const { return kept_.to(type).mul_(factor_.to(type)); }

}  // namespace riesz
