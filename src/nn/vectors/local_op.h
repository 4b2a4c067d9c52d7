// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <initializer_list>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::detail {

using LocalInputs = std::initializer_list<std::reference_wrapper<const at::Tensor>>;

/// A zero-volume stand-in, on a worker outside of Y's partition, for a vector that others compute from
/// `inputs`. It has the first one's type, requires a gradient where one of them does, and has an identity of
/// its own. By these a pipeline knows, on all workers alike, what is sent and whether a gradient comes back.
/// `constant`: all that it is computed from are constants, so it is one. Local.
Vector elsewhere(const Space& Y, const std::vector<at::Tensor>& inputs, bool constant);

/// A vector in Y whose part each worker of Y's partition computes by itself: the tensor f() is computed from
/// `inputs`. Elsewhere its stand-in. Local; no allocation but f's.
template <typename F>
Vector local_op(const Space& Y, LocalInputs inputs, bool constant, F&& f) {
  if (!Y.partition().active()) return elsewhere(Y, {inputs.begin(), inputs.end()}, constant);
  return {Y, f(), constant};
}

template <typename F>
Vector local_op(const Space& Y, const std::vector<at::Tensor>& inputs, bool constant, F&& f) {
  if (!Y.partition().active()) return elsewhere(Y, inputs, constant);
  return {Y, f(), constant};
}

}  // namespace riesz::detail
