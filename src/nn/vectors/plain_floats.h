// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "riesz/comm/without_values.h"

namespace riesz::detail {

/// Number of elements that torch's own operations compute in one thread, so few that our one-threaded kernels
/// suit.
constexpr std::int64_t kFew = std::int64_t{1} << 15;

/// May a kernel of ours read x's memory, if it has values? x is fp32 on a CPU, and not a lazy negation.
inline bool plain_floats(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && !x.is_neg();
}

/// Are gradients recorded in this thread now?
bool gradients_are_on();

/// Would torch record an operation on these for backward?
template <typename... Tensors>
bool recorded(const Tensors&... xs) {
  return (xs.requires_grad() || ...) && gradients_are_on();
}

}  // namespace riesz::detail
