// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/conv_geometry.h"

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/spatial_dims.h"

namespace riesz::detail {
namespace {

/// Letters in torch's order, such as "bchw,ocrs->bohw".
Indices conv_letters(const std::string& whose, const std::string& spec) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  const std::string wanted =
      "; write it as in \"bchw,ocrs->bohw\": batch, channels and spatial dims, the weight of channels out, "
      "in and "
      "the kernel, and the result";
  RIESZ_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow, whose,
              " does not name x, w and a result", wanted);
  Indices s{spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1), spec.substr(arrow + 2)};
  RIESZ_CHECK(
      s[0].size() >= 3 && s[0].size() <= 5 && s[1].size() == s[0].size() && s[2].size() == s[0].size(), whose,
      " has operands of ", s[0].size(), ", ", s[1].size(), " and ", s[2].size(),
      " dims; all three have 3 to 5", wanted);
  const bool channels = s[1][1] == s[0][1] && s[1][0] == s[2][1] && s[0][0] == s[2][0] && s[0][1] != s[2][1];
  RIESZ_CHECK(channels && s[0].substr(2) == s[2].substr(2), whose, " has its letters in another order",
              wanted);
  const std::string all = s[0] + s[1].substr(0, 1) + s[1].substr(2);
  for (std::size_t i = 0; i < all.size(); ++i)
    RIESZ_CHECK(all.find(all[i]) == i, whose, " has the letter ", all[i], " for two dims", wanted);
  return s;
}

/// As the plan wants them: no index along the kernel, and with groups one for the channels.
Indices planned_letters(Indices s, std::int64_t groups) {
  for (std::size_t dim = 2; dim < s[1].size(); ++dim) s[1][dim] = '-';
  if (groups > 1) s[1][1] = '-', s[0][1] = s[2][1];
  return s;
}

bool element_by_element(const Window& window) {
  return window.kernel == 1 && window.stride == 1 && window.padding_before == 0 && window.padding_after == 0;
}

}  // namespace

void check_groups(const std::string& whose, std::int64_t groups, std::int64_t in, std::int64_t out) {
  RIESZ_CHECK(groups >= 1 && in % groups == 0 && out % groups == 0, whose, ": ", groups, " groups of ", in,
              " channels in and ", out, " out; the groups must divide both");
}

std::vector<std::int64_t> for_each_dim(const std::string& whose, const char* what,
                                       const std::vector<std::int64_t>& numbers, std::size_t dims) {
  RIESZ_CHECK(numbers.size() == 1 || numbers.size() == dims, whose, ": ", what, " has ", numbers.size(),
              " numbers for ", dims, " spatial dims; give one for all, or one for each");
  return numbers.size() == dims ? numbers : std::vector<std::int64_t>(dims, numbers[0]);
}

std::vector<Window> windows_of(const std::string& whose, const std::vector<std::int64_t>& kernel,
                               const std::vector<std::int64_t>& inputs,
                               const std::vector<std::int64_t>& stride,
                               const std::vector<std::int64_t>& dilation, const Padding& padding) {
  const std::size_t dims = inputs.size();
  const auto k = for_each_dim(whose, "kernel", kernel, dims), s = for_each_dim(whose, "stride", stride, dims),
             d = for_each_dim(whose, "dilation", dilation, dims),
             p = for_each_dim(whose, "padding", padding.each, dims);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < dims; ++i) {
    RIESZ_CHECK(k[i] >= 1 && s[i] >= 1 && d[i] >= 1 && p[i] >= 0, whose, ": a kernel of ", k[i], ", stride ",
                s[i], ", dilation ", d[i], " and padding ", p[i], " in spatial dim ", i,
                "; padding is 0 or more, and the others 1 or more");
    RIESZ_CHECK(!padding.same || s[i] == 1, whose, ": a stride of ", s[i],
                " with as many outputs as inputs (Padding::same); it must be 1");
    const std::int64_t all = d[i] * (k[i] - 1);
    const Window window{k[i], s[i], d[i], padding.same ? all / 2 : p[i], padding.same ? all - all / 2 : p[i]};
    const std::int64_t n = inputs[i];
    windows.push_back(window);
    if (n == Space::any) continue;
    check_padding(whose, padding.mode, window.padding_after, n, i);
    check_fits(whose, window, n, i);
  }
  return windows;
}

/// Zeros need no inputs. Circular padding needs as many as it adds, and reflect one more.
void check_padding(const std::string& whose, PaddingMode mode, std::int64_t padding, std::int64_t n,
                   std::size_t dim) {
  if (n == Space::any || mode == PaddingMode::zeros || (mode == PaddingMode::replicate && n > 0)) return;
  const std::int64_t most = mode == PaddingMode::replicate ? 0 : n - (mode == PaddingMode::reflect);
  RIESZ_CHECK(padding <= most, whose, ": a padding of ", padding, " by mode ", to_string(mode),
              ", but spatial dim ", dim, " has ", n, " elements, so at most ", most);
}

void check_fits(const std::string& whose, const Window& window, std::int64_t n, std::size_t dim) {
  RIESZ_CHECK(output_extent(window, n) > 0, whose, ": a window over ",
              window.dilation * (window.kernel - 1) + 1, " elements does not fit the ", n, " of spatial dim ",
              dim, " with padding ", window.padding_before, " and ", window.padding_after);
}

Initial conv_initial(const std::optional<Initial>& given, const std::vector<std::int64_t>& weight_shape) {
  if (given) return *given;
  return Initial::kaiming_uniform(static_cast<double>(fans_of(weight_shape).in), std::sqrt(5.0));
}

ConvGeometry conv_geometry(const std::string& whose, const std::string& spec, const Space& X,
                           const std::vector<std::int64_t>& weight_shape, const ConvWindows& windows) {
  const Indices letters = conv_letters(whose, spec);
  check_dims(whose, letters[0], X);
  RIESZ_CHECK(weight_shape.size() == letters[1].size(), whose, ": a weight of shape ",
              at::IntArrayRef(weight_shape), " for \"", letters[1], "\"");
  const std::int64_t in = X.shape()[1], groups = windows.groups;
  check_groups(whose, groups, in, weight_shape[0]);
  RIESZ_CHECK(weight_shape[1] * groups == in, whose, ": x has ", in, " channels in ", groups,
              " groups, but the weight of shape ", at::IntArrayRef(weight_shape), " reads ", weight_shape[1],
              " each; it must be ", in / groups);
  const std::vector<std::int64_t> inputs = spatial_extents(X);
  const std::vector<std::int64_t> kernel(weight_shape.begin() + 2, weight_shape.end());
  ConvGeometry geometry{planned_letters(letters, groups),
                        windows_of(whose, kernel, inputs, windows.stride, windows.dilation, windows.padding),
                        {},
                        {},
                        groups,
                        weight_shape[0]};
  if (groups > 1) geometry.dims.push_back({1, 1, reading_of_groups(groups, in, weight_shape[0])});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool open = inputs[i] == Space::any;
    geometry.outputs.push_back(open ? inputs[i] : output_extent(geometry.windows[i], inputs[i]));
    const int dim = static_cast<int>(i) + 2;
    if (!open && !element_by_element(geometry.windows[i]))
      geometry.dims.push_back({dim, dim, reading_of(geometry.windows[i], inputs[i], windows.padding.mode)});
  }
  return geometry;
}

}  // namespace riesz::detail
