// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/operands.h"

#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace riesz::detail {

std::int64_t LoopDims::elements() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

LoopDims loop_dims(const at::Tensor& x) {
  LoopDims dims{{}, std::vector<std::int64_t>(static_cast<std::size_t>(x.dim()))};
  std::iota(dims.order.begin(), dims.order.end(), 0);
  if (!x.is_contiguous())
    std::stable_sort(dims.order.begin(), dims.order.end(),
                     [&](std::int64_t a, std::int64_t b) { return x.stride(a) > x.stride(b); });
  for (const std::int64_t dim : dims.order) dims.sizes.push_back(x.size(dim));
  return dims;
}

at::Tensor new_along(const LoopDims& dims, at::TensorOptions options) {
  std::vector<std::int64_t> sizes(dims.order.size()), strides(dims.order.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.order.size(); i-- > 0; stride *= std::max<std::int64_t>(1, dims.sizes[i])) {
    const auto dim = static_cast<std::size_t>(dims.order[i]);
    sizes[dim] = dims.sizes[i], strides[dim] = stride;
  }
  return at::empty_strided(sizes, strides, options);  // no view: who has it may write in place
}

std::vector<std::int64_t> strides_along(const LoopDims& dims, at::IntArrayRef sizes,
                                        at::IntArrayRef strides) {
  const auto missing = static_cast<std::int64_t>(dims.order.size() - sizes.size());
  std::vector<std::int64_t> along;
  for (const std::int64_t dim : dims.order) {
    const auto own = static_cast<std::size_t>(dim - missing);
    along.push_back(dim < missing || sizes[own] == 1 ? 0 : strides[own]);
  }
  return along;
}

void join_dims(std::vector<std::int64_t>& sizes, const std::vector<LoopOperand*>& operands) {
  std::size_t kept = 0;  // dims before this one are done
  const auto joins = [&](std::size_t dim) {
    return std::all_of(operands.begin(), operands.end(), [&](const LoopOperand* each) {
      return each->strides[kept - 1] == each->strides[dim] * sizes[dim];
    });
  };
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 1) continue;
    const bool joined = kept > 0 && joins(dim);
    const std::int64_t size = joined ? sizes[kept - 1] * sizes[dim] : sizes[dim];
    if (!joined) ++kept;
    sizes[kept - 1] = size;
    for (LoopOperand* each : operands) each->strides[kept - 1] = each->strides[dim];
  }
  sizes.resize(kept);
  for (LoopOperand* each : operands) each->strides.resize(kept);
  if (kept > 0) return;
  sizes.push_back(1);
  for (LoopOperand* each : operands) each->strides.push_back(1);
}

}  // namespace riesz::detail
