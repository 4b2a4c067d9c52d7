// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>
#include <vector>

#include "riesz/nn/layers/dropout.h"
#include "riesz/partition/interval.h"

namespace riesz {

/// What a dropout makes, in one step of training, of any boxes of a vector of a global shape, in their local
/// order: the mask of their global indices, kept, a byte an element, also when the dropout has gone on to
/// another step.
class BlockDropout {
 public:
  BlockDropout(const Dropout& drop, const std::vector<std::int64_t>& shape, const Boxes& boxes,
               const at::TensorOptions& options);

  /// Again, from its tensors.
  BlockDropout(at::Tensor kept, at::Tensor factor) : kept_(std::move(kept)), factor_(std::move(factor)) {}
  const at::Tensor& kept() const { return kept_; }
  const at::Tensor& factor() const { return factor_; }

  /// 0 where dropped, 1/(1 − p) elsewhere.
  at::Tensor factors(at::ScalarType type) const;

 private:
  at::Tensor kept_;
  at::Tensor factor_;
};

}  // namespace riesz
