// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz::detail {

/// Is this a type that strips are read from: fp64, fp32, bf16 or fp16?
bool is_real_type(at::ScalarType type);

/// to[i] = from[i·stride], i < n, as T: float or double.
template <typename T>
void read_as(at::ScalarType type, const void* from, std::int64_t stride, std::int64_t n, T* to);

/// to[i] = from[i], i < n, rounded to `type`.
template <typename T>
void write_as(at::ScalarType type, const T* from, std::int64_t n, void* to);

/// sums[i] += from[i], i < n.
template <typename T>
void add_to(const T* from, std::int64_t n, double* sums);

}  // namespace riesz::detail
