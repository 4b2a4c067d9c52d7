// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/conv_transpose.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/spatial/channel_bias.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/conv_geometry.h"

namespace riesz {
namespace {

/// The spec of the convolution from y to x.
std::string turned_round(const std::string& whose, const std::string& spec) {
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  RIESZ_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow, whose,
              " does not name x, w and a result; write it as in \"bohw,ocrs->bchw\": batch, channels and "
              "spatial dims, the weight of channels in, out and the kernel, and the result");
  return spec.substr(arrow + 2) + spec.substr(comma, arrow - comma) + "->" + spec.substr(0, comma);
}

std::int64_t extent_of(const Window& window, std::int64_t inputs, std::int64_t more) {
  return (inputs - 1) * window.stride - window.padding_before - window.padding_after +
         window.dilation * (window.kernel - 1) + more + 1;
}

/// Y with its dims bound to those of x.
Space transposed_range(const std::string& whose, const Space& X, const Space& Y,
                       const std::vector<std::int64_t>& kernel, const ConvTransposeOptions& options) {
  const ConvWindows& by = options.windows;
  RIESZ_CHECK(by.padding.mode == PaddingMode::zeros && !by.padding.same, whose, ": padding of mode ",
              to_string(by.padding.mode), by.padding.same ? " (same)" : "",
              "; a transposed convolution is padded with zeros, by numbers (Padding::each)");
  RIESZ_CHECK(Y.dims() == X.dims(), whose, " from ", to_string(X), " to ", to_string(Y),
              "; both have as many dims");
  const std::size_t dims = kernel.size();
  const std::vector<std::int64_t> more =
      detail::for_each_dim(whose, "output_padding", options.output_padding, dims);
  const std::vector<Window> windows = detail::windows_of(
      whose, kernel, std::vector<std::int64_t>(dims, Space::any), by.stride, by.dilation, by.padding);
  std::vector<std::int64_t> shape{X.shape()[0], Y.shape()[1]};
  for (std::size_t i = 0; i < dims; ++i) {
    RIESZ_CHECK(more[i] >= 0 && more[i] < windows[i].stride, whose, ": an output padding of ", more[i],
                " in spatial dim ", i, ", with stride ", windows[i].stride,
                "; it must be smaller than the stride");
    const std::int64_t n = X.shape()[i + 2], given = Y.shape()[i + 2];
    shape.push_back(n == Space::any ? given : extent_of(windows[i], n, more[i]));
    RIESZ_CHECK(n == Space::any || (shape.back() > 0 && (given == Space::any || given == shape.back())),
                whose, ": spatial dim ", i, " has ", n, " elements in x, so ", shape.back(),
                " in the result, but ", given, " in ", to_string(Y));
  }
  return Y.with_shape(shape);
}

/// From y to x, whose adjoint the layer is.
Convolution convolution_back(const std::string& whose, const std::string& spec, const Space& X,
                             const Space& W, const Space& Y, const std::vector<std::int64_t>& kernel,
                             const ConvTransposeOptions& options) {
  const Space range = transposed_range(whose, X, Y, kernel, options);
  return {spec, dual(range), W, dual(X), options.windows};
}

}  // namespace

ConvTranspose::ConvTranspose(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
                             const std::vector<std::int64_t>& kernel, const ConvTransposeOptions& options)
    : Layer(std::move(place)),
      spec_(turned_round(concat("ConvTranspose ", path(), " ", spec), spec)),
      options_(options),
      kernel_(detail::for_each_dim(concat("ConvTranspose ", path()), "kernel", kernel,
                                   static_cast<std::size_t>(std::max(1, X.dims() - 2)))),
      weight_(parameter(
          "weight", conv_weight_between(spec_, Y, X, kernel_, options.windows.groups),
          {detail::conv_initial(options.initial,
                                conv_weight_between(spec_, Y, X, kernel_, options.windows.groups).shape()),
           true})) {
  const std::string whose = concat("ConvTranspose ", path());
  set_domain(X), set_range(transposed_range(whose, X, Y, kernel_, options_));
  detail::conv_geometry(whose, spec_, *range(), weight_.space().shape(), options_.windows);
  if (X.concrete()) convolution_back(whose, spec_, X, weight_.space(), *range(), kernel_, options_);
  if (options.bias) bias_ = parameter("bias", detail::channel_space(*range()), {Initial::zeros()});
}

std::shared_ptr<const Convolution> ConvTranspose::convolution(const Space& X) {
  const Vector w = weight_.value();
  return plans_.get(
      [&](const Convolution& made) { return made.range() == dual(X) && made.read(1).domain() == w.space(); },
      [&] {
        return convolution_back(concat("ConvTranspose ", path()), spec_, X, w.space(), *range(), kernel_,
                                options_);
      });
}

Vector ConvTranspose::forward(const Vector& x) {
  const Vector y = convolution(x.space())->transposed(x, weight_.value());
  return bias_ ? detail::with_channel_bias(y, *bias_) : y;
}

std::string ConvTranspose::describe() const {
  return concat("ConvTranspose, adjoint of ", spec_, ", weight ", at::IntArrayRef(weight_.space().shape()),
                ", stride ", at::IntArrayRef(options_.windows.stride), bias_ ? ", with bias" : "");
}

}  // namespace riesz
