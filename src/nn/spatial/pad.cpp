// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/pad.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/spatial/windowed_function.h"

namespace riesz {
namespace {

struct Margins {
  std::vector<std::int64_t> before, after;
  PaddingMode mode;
};

/// The windows of one element that give x with its padding.
std::vector<Window> pad_windows(const std::string& whose, const Space& X, const Margins& by) {
  detail::check_spatial(whose, X);
  const auto dims = static_cast<std::size_t>(X.dims() - 2);
  const auto before = detail::for_each_dim(whose, "before", by.before, dims),
             after = detail::for_each_dim(whose, "after", by.after, dims);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < dims; ++i) {
    RIESZ_CHECK(before[i] >= 0 && after[i] >= 0, whose, ": ", before[i], " elements before and ", after[i],
                " after spatial dim ", i, "; they are 0 or more");
    detail::check_padding(whose, by.mode, std::max(before[i], after[i]), X.shape()[i + 2], i);
    windows.push_back({1, 1, 1, before[i], after[i]});
  }
  return windows;
}

std::vector<std::int64_t> padded_extents(const Space& X, const std::vector<Window>& windows) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::int64_t n = X.shape()[i + 2];
    extents.push_back(n == Space::any ? n : output_extent(windows[i], n));
  }
  return extents;
}

LocalFunction padding(const std::string& whose, const Space& X, const Space& Y, const Margins& by,
                      double value) {
  const std::vector<Window> windows = pad_windows(whose, X, by);
  const Space range = detail::bound(whose, X, Y, padded_extents(X, windows));
  std::vector<detail::WindowedDim> dims;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const int dim = static_cast<int>(i) + 2;
    dims.push_back({dim, dim, detail::reading_of(windows[i], X.shape()[i + 2], by.mode)});
  }
  return detail::windowed_function(whose, X, range, dims,
                                   [value](const at::Tensor& x, const std::vector<detail::Slab>& all) {
                                     return detail::padded_inputs(x, all, value);
                                   });
}

}  // namespace

Pad::Pad(OwnerAndName place, const Space& X, const Space& Y, const std::vector<std::int64_t>& before,
         const std::vector<std::int64_t>& after, PaddingMode mode, double value)
    : Layer(std::move(place)), before_(before), after_(after), mode_(mode), value_(value) {
  const std::string whose = concat("Pad ", path());
  set_domain(X);
  set_range(detail::bound(whose, X, Y, padded_extents(X, pad_windows(whose, X, {before, after, mode}))));
  if (X.concrete() && range()->concrete()) padding(whose, X, *range(), {before, after, mode}, value);
}

Vector Pad::forward(const Vector& x) {
  return functions_(x, [this](const Space& X) {
    return padding(concat("Pad ", path()), X, *range(), {before_, after_, mode_}, value_);
  });
}

std::string Pad::describe() const {
  return concat("Pad ", to_string(mode_), ", ", at::IntArrayRef(before_), " before and ",
                at::IntArrayRef(after_), " after");
}

}  // namespace riesz
