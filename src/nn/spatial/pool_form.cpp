// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/pool_form.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/conv_form.h"
#include "riesz/nn/spatial/windowed_function.h"

namespace riesz::detail {
namespace {

/// The window with so much padding after that it gives torch's number of outputs with ceil_mode. It may then
/// fit fewer inputs than its width.
Window ceiled(Window window, std::int64_t n) {
  const std::int64_t width = window.dilation * (window.kernel - 1) + 1;
  const std::int64_t room = n + window.padding_before + window.padding_after - width;
  if (room + window.stride - 1 < 0) return window;  // not even the first
  std::int64_t outputs = (room + window.stride - 1) / window.stride + 1;
  if ((outputs - 1) * window.stride >= n + window.padding_before) --outputs;
  const std::int64_t more = (outputs - 1) * window.stride - room;
  if (more > 0) window.padding_after += more;
  return window;
}

}  // namespace

PoolForm pool_form(const std::string& whose, const Space& X, const PoolWindows& by) {
  RIESZ_CHECK(X.dims() >= 3 && X.dims() <= 5, whose, ": x lies in ", to_string(X),
              "; it has a batch, channels and 1 to 3 dims of space");
  const std::vector<std::int64_t> inputs(X.shape().begin() + 2, X.shape().end());
  const std::vector<std::int64_t>& stride = by.stride.empty() ? by.kernel : by.stride;
  const std::vector<std::int64_t> any(inputs.size(), Space::any);
  PoolForm form{windows_of(whose, by.kernel, any, stride, by.dilation, {.each = by.padding}), {}, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Window& window = form.windows[i];
    form.padding.push_back(window.padding_before);
    RIESZ_CHECK(2 * window.padding_before <= window.kernel, whose, ": a padding of ", window.padding_before,
                " in dim ", i, " of space, with a kernel of ", window.kernel,
                "; it is at most half the kernel");
    if (inputs[i] == Space::any) {
      form.outputs.push_back(Space::any);
      continue;
    }
    RIESZ_CHECK(inputs[i] > 0, whose, ": dim ", i, " of space has no elements, in ", to_string(X));
    if (by.ceil_mode) window = ceiled(window, inputs[i]);
    check_fits(whose, window, inputs[i], i);
    form.outputs.push_back(output_extent(window, inputs[i]));
    const int dim = static_cast<int>(i) + 2;
    form.dims.push_back({dim, dim, reading_of(window, inputs[i])});
  }
  return form;
}

Interval adaptive_reach(std::int64_t n, std::int64_t m, const Interval& outputs) {
  return {outputs.begin * n / m, (outputs.end * n + m - 1) / m};
}

AdaptiveForm adaptive_form(const std::string& whose, const Space& X, const Space& Y) {
  const std::vector<std::int64_t> outputs(Y.shape().begin() + 2, Y.shape().end());
  AdaptiveForm form{
      with_outputs(whose, X, Y, outputs), {X.shape().begin() + 2, X.shape().end()}, outputs, {}};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t n = form.inputs[i], m = outputs[i];
    RIESZ_CHECK(n > 0 && m > 0, whose, ": ", m, " outputs of ", n, " inputs in dim ", i, " of space");
    const int dim = static_cast<int>(i) + 2;
    form.dims.push_back(
        {dim, dim, {n, m, [n, m](const Interval& some) { return adaptive_reach(n, m, some); }}});
  }
  return form;
}

Space adaptive_range(const std::string& whose, const Space& X, const Space& Y) {
  for (int dim = 2; dim < Y.dims(); ++dim)
    RIESZ_CHECK(Y.shape()[static_cast<std::size_t>(dim)] != Space::any, whose, ": the result lies in ",
                to_string(Y), "; its dims of space have a known extent, which windows are fitted to");
  return with_outputs(whose, X, Y, {Y.shape().begin() + std::min(2, Y.dims()), Y.shape().end()});
}

}  // namespace riesz::detail
