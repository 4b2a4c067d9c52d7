// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/choose.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/softmax.h>

#include <algorithm>

namespace riesz {

std::int64_t choose(const at::Tensor& logits, double temperature, double draw) {
  if (temperature == 0) return at::argmax(logits).item<std::int64_t>();
  const at::Tensor sums = at::cumsum(at::softmax(logits.to(at::kDouble).div(temperature), 0), 0).contiguous();
  const auto* first = sums.const_data_ptr<double>();
  const auto* last = first + sums.numel() - 1;
  return std::upper_bound(first, last, draw * *last) - first;
}

}  // namespace riesz
