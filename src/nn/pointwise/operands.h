// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace riesz::detail {

/// A tensor of a loop over elements: its memory, and its stride, in elements, for each dim of the loop. It is
/// 0 where the tensor is broadcast.
struct LoopOperand {
  at::ScalarType type = at::kFloat;
  void* data = nullptr;  ///< nullptr: not wanted, or summed into a buffer of the loop's own
  std::vector<std::int64_t> strides = {};
};

/// The dims of a loop over the elements of x, outermost first.
struct LoopDims {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> order;  ///< the dim of x that each is

  std::int64_t elements() const;
};

/// The dims of x in the order of its strides, so that memory is read as it lies.
LoopDims loop_dims(const at::Tensor& x);

/// A new tensor with x's sizes, dense in the order of the loop.
at::Tensor new_along(const LoopDims& dims, at::TensorOptions options);

/// The strides of a tensor of these sizes and strides, which is broadcast, along the loop.
std::vector<std::int64_t> strides_along(const LoopDims& dims, at::IntArrayRef sizes, at::IntArrayRef strides);

/// Joins dims that follow one another in all operands, and drops those of one element. One dim stays.
void join_dims(std::vector<std::int64_t>& sizes, const std::vector<LoopOperand*>& operands);

}  // namespace riesz::detail
