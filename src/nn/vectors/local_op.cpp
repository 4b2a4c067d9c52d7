// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/local_op.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>

#include <algorithm>

namespace riesz::detail {

Vector elsewhere(const Space& Y, const std::vector<at::Tensor>& inputs, bool constant) {
  const auto recorded = std::find_if(inputs.begin(), inputs.end(), [](const at::Tensor& each) {
    return each.defined() && each.requires_grad();
  });
  // A view of a leaf that is trained says that it requires a gradient, also where none is recorded.
  if (constant || !at::GradMode::is_enabled() || recorded == inputs.end())
    return {Y, inputs.front().detach(), constant};
  return {Y, recorded->to(inputs.front().options()).alias()};
}

}  // namespace riesz::detail
