// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/elsewhere.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>

#include <algorithm>

namespace riesz::detail {

Vector elsewhere(const Space& Y, const std::vector<at::Tensor>& from, bool constant) {
  // A view of a leaf that is trained says that it requires a gradient, also where none is recorded.
  if (constant || !at::GradMode::is_enabled()) return {Y, from.front().detach(), constant};
  const auto recorded = std::find_if(from.begin(), from.end(), [](const at::Tensor& each) {
    return each.defined() && each.requires_grad();
  });
  if (recorded == from.end()) return {Y, from.front()};
  return {Y, recorded->to(from.front().options()).alias()};
}

}  // namespace riesz::detail
