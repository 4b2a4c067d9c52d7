// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/sum/ordered_sum.h"

namespace riesz::detail {

/// x in the type in which its elements are summed: fp16 and bf16 in fp32, others as they are. Differentiable.
inline at::Tensor to_accumulation_type(const at::Tensor& x) {
  return x.to(accumulation_type(x.scalar_type()));
}

}  // namespace riesz::detail
