// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/windowed_function.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace riesz::detail {

LocalFunction windowed_function(const std::string& whose, const Space& X, const Space& Y,
                                const std::vector<WindowedDim>& dims, const OfSlabs& f,
                                std::optional<at::ScalarType> result_type) {
  const std::string letters = std::string("bcdhwxyz").substr(0, static_cast<std::size_t>(Y.dims()));
  const WindowedPlan plan =
      plan_windowed(whose, {letters, "", letters}, X, Space(Y.partition(), {}), Y, dims);
  std::vector<std::int64_t> along;
  for (const WindowedDim& dim : dims) along.push_back(dim.y);
  const std::vector<std::int64_t> shape = plan.y().local_shape();
  const auto local = [f, slabs = plan.slabs, along, shape,
                      result_type](const std::vector<at::Tensor>& z) -> at::Tensor {
    const at::Tensor& x = z[0];
    const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (none) return at::zeros(shape, x.options().dtype(result_type.value_or(x.scalar_type())));
    return over_slabs(slabs, along, [&](const std::vector<Slab>& some) { return f(x, some); });
  };
  return LocalFunction(whose, {{X, plan.x()}}, {Y, plan.y()}, local,
                       {.keep = true, .result_type = result_type});
}

at::Tensor padded_inputs(const at::Tensor& x, const std::vector<Slab>& slabs, double value) {
  at::Tensor inputs = x;
  std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * x.dim()), 0);
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    const std::int64_t dim = static_cast<std::int64_t>(i) + 2;
    inputs = inputs_of(slabs[i], inputs, dim);
    const auto last_first = static_cast<std::size_t>(2 * (x.dim() - 1 - dim));
    pad[last_first] = slabs[i].before;
    pad[last_first + 1] = slabs[i].after;
  }
  const bool pads = std::any_of(pad.begin(), pad.end(), [](std::int64_t n) { return n > 0; });
  return pads ? at::constant_pad_nd(inputs, pad, value) : inputs;
}

}  // namespace riesz::detail
