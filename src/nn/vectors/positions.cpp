// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/positions.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <vector>

namespace riesz::detail {

at::Tensor positions(const Intervals& held, at::Device device) {
  const at::TensorOptions integers = at::device(device).dtype(at::kLong);
  if (held.size() == 1) return at::arange(held.front().begin, held.front().end, integers);
  std::vector<at::Tensor> runs{at::arange(0, integers)};
  for (const Interval& run : held) runs.push_back(at::arange(run.begin, run.end, integers));
  return at::cat(runs);
}

}  // namespace riesz::detail
