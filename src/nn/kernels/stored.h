// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include "riesz/comm/kernels/stored.h"
#include "riesz/comm/without_values.h"

namespace riesz::detail {

/// May a kernel of rows read x's memory, on a CPU or on a device that has the kernel? x is fp32, bf16 or fp16
/// and not a lazy negation.
inline bool of_stored_type(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf) && !x.is_neg();
}

/// The same, and x is on a CPU.
inline bool stored_plainly(const at::Tensor& x) { return x.is_cpu() && of_stored_type(x); }

/// Calls f with a number of the type, as kernels know it. @pre fp32, bf16 or fp16
template <typename F>
void for_stored(at::ScalarType type, const F& f) {
  if (type == at::kFloat) return f(float{});
  if (type == at::kBFloat16) return f(kernels::BFloat16{});
  f(kernels::Half{});
}

/// The elements of x. @pre x is of that type
template <typename Number>
const Number* numbers_of(const at::Tensor& x) {
  return static_cast<const Number*>(x.const_data_ptr());
}
template <typename Number>
Number* numbers_to(const at::Tensor& x) {
  return static_cast<Number*>(x.mutable_data_ptr());
}

}  // namespace riesz::detail
