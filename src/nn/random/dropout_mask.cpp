// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/dropout_mask.h"

#include <ATen/ops/empty.h>

#include "riesz/nn/random/draw_each.h"
#include "riesz/nn/random/random.h"

namespace riesz::detail {
namespace {

std::vector<std::int64_t> sizes_of(const Boxes& boxes) {
  std::vector<std::int64_t> sizes;
  for (const Intervals& held : boxes) sizes.push_back(total(held));
  return sizes;
}

}  // namespace

at::Tensor dropout_mask(const std::vector<std::int64_t>& shape, const Boxes& boxes, std::uint64_t key,
                        std::uint64_t step, double p, const at::TensorOptions& options) {
  at::Tensor mask = at::empty(sizes_of(boxes), at::kFloat);
  float* data = mask.data_ptr<float>();
  const auto threshold = static_cast<std::uint64_t>(p * 0x1p32);
  draw_each(
      shape, boxes, [key, step](std::uint64_t block) { return philox(key, block, step); },
      [data, threshold](std::int64_t i, std::uint32_t word) { data[i] = word < threshold ? 0.0F : 1.0F; });
  return mask.to(options).mul_(1 / (1 - p));
}

at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options) {
  return dropout_mask(X.shape(), boxes_here(X), key, step, p, options);
}

}  // namespace riesz::detail
