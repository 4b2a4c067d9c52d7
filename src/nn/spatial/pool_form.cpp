// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/pool_form.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/conv_form.h"

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

}  // namespace riesz::detail
