// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/extremes.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include <limits>
#include <string>
#include <vector>

#include "riesz/comm/host_value.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/all_max.h"

namespace riesz::detail {

Extremes extremes(const Vector& x) {
  const at::Tensor local = x.local().detach();
  at::Tensor outer =
      at::full({2}, -std::numeric_limits<double>::infinity(), local.options().dtype(at::kDouble));
  if (local.numel() > 0) {
    outer = at::stack({at::amin(local).to(at::kDouble).neg(), at::amax(local).to(at::kDouble)});
  }
  std::vector<std::string> axes;
  for (int dim = 0; dim < x.space().dims(); ++dim) {
    for (const std::string& axis : sharding_axes(x.space(), dim)) axes.push_back(axis);
  }
  outer = all_max(x.space().partition(), axes, outer);
  return {-host_value(outer[0], 0.0), host_value(outer[1], 0.0)};
}

}  // namespace riesz::detail
