// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

/// The type in which sums over many elements of `type` are taken: fp32 of fp16 and bf16, else the same.
inline at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

/// x in its accumulation type. Differentiable.
inline at::Tensor to_accumulation_type(const at::Tensor& x) { return x.to(accumulation_type(x.scalar_type())); }

}  // namespace riesz
