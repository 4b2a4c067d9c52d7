// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/block_dropout.h"

#include <ATen/ops/amax.h>

namespace riesz {

BlockDropout::BlockDropout(const Dropout& drop, const std::vector<std::int64_t>& shape, const Boxes& boxes,
                           const at::TensorOptions& options) {
  const at::Tensor made = drop.mask(shape, boxes, options);
  kept_ = made.ne(0);
  factor_ = made.numel() == 0 ? made.sum() : at::amax(made);
}

at::Tensor BlockDropout::factors(at::ScalarType type) const { return kept_.to(type).mul_(factor_.to(type)); }

}  // namespace riesz
