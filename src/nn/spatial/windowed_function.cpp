// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/windowed_function.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz::detail {

LocalFunction windowed_function(const std::string& whose, const Space& X, const Space& Y,
                                const std::vector<WindowedDim>& dims, const OfPieces& f,
                                std::optional<at::ScalarType> result_type) {
  const std::string letters = std::string("bcdhwxyz").substr(0, static_cast<std::size_t>(Y.dims()));
  const WindowedPlan plan =
      plan_windowed(whose, {letters, "", letters}, X, Space(Y.partition(), {}), Y, dims);
  std::vector<std::int64_t> along;
  for (const WindowedDim& dim : dims) along.push_back(dim.y);
  const std::vector<std::int64_t> shape = plan.y().local_shape();
  const auto local = [f, pieces = plan.pieces, along, shape,
                      result_type](const std::vector<at::Tensor>& z) -> at::Tensor {
    const at::Tensor& x = z[0];
    const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (none) return at::zeros(shape, x.options().dtype(result_type.value_or(x.scalar_type())));
    return over_pieces(pieces, along, [&](const std::vector<Piece>& some) { return f(x, some); });
  };
  return LocalFunction(whose, {{X, plan.x()}}, {Y, plan.y()}, local,
                       {.keep = true, .result_type = result_type});
}

at::Tensor padded_inputs(const at::Tensor& x, const std::vector<Piece>& pieces,
                         const std::vector<std::int64_t>& dims, double value) {
  at::Tensor inputs = x;
  std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * x.dim()), 0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    inputs = inputs_of(pieces[i], inputs, dims[i]);
    const auto last_first = static_cast<std::size_t>(2 * (x.dim() - 1 - dims[i]));
    pad[last_first] = pieces[i].before;
    pad[last_first + 1] = pieces[i].after;
  }
  const bool pads = std::any_of(pad.begin(), pad.end(), [](std::int64_t n) { return n > 0; });
  return pads ? at::constant_pad_nd(inputs, pad, value) : inputs;
}

Space with_outputs(const std::string& whose, const Space& X, const Space& Y,
                   const std::vector<std::int64_t>& outputs) {
  RIESZ_CHECK(X.dims() == Y.dims() && X.dims() == static_cast<int>(outputs.size()) + 2, whose, " from ",
              to_string(X), " to ", to_string(Y), "; both have a batch, channels and ", outputs.size(),
              " dims of space");
  std::vector<std::int64_t> shape = X.shape();
  std::copy(outputs.begin(), outputs.end(), shape.begin() + 2);
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t given = Y.shape()[dim];
    RIESZ_CHECK(given == Space::any || shape[dim] == Space::any || given == shape[dim], whose, ": dim ", dim,
                " of the result has ", shape[dim], " elements, but ", given, " in ", to_string(Y),
                "; x lies in ", to_string(X));
    if (shape[dim] == Space::any) shape[dim] = given;
  }
  return Y.with_shape(shape);
}

}  // namespace riesz::detail
