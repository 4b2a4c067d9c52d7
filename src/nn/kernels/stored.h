// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/without_values.h"

namespace riesz::detail {

/// May a kernel of rows read x's memory? x is fp32, bf16 or fp16 on a CPU, not a lazy negation, and has
/// values.
inline bool stored_plainly(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return x.is_cpu() && (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf) && !x.is_neg() &&
         has_values();
}

/// Calls f with a number of the type. @pre fp32, bf16 or fp16
template <typename F>
void for_stored(at::ScalarType type, const F& f) {
  if (type == at::kFloat) return f(float{});
  if (type == at::kBFloat16) return f(at::BFloat16{});
  f(at::Half{});
}

}  // namespace riesz::detail
