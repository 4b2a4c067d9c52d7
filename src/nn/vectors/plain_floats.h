// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstdint>

namespace riesz::detail {

/// Elements that torch's own operations compute in one thread: few enough for a kernel that has but one.
constexpr std::int64_t kFew = std::int64_t{1} << 15;

/// May a kernel of ours read x's memory: fp32 on a CPU, where what is stored is what is meant?
inline bool plain_floats(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && !x.is_neg();
}

/// Would torch record an operation on these for backward?
template <typename... Tensors>
bool recorded(const Tensors&... xs) {
  return at::GradMode::is_enabled() && (xs.requires_grad() || ...);
}

}  // namespace riesz::detail
