// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/conv.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/spatial/channel_bias.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"

namespace riesz {
namespace {

/// W, once it is sure that operands of these spaces fit as far as their extents are known.
Space fitting(const std::string& whose, const std::string& spec, const Space& X, const Space& W,
              const Space& Y, const ConvWindows& windows) {
  detail::check_known_channels(whose, X);
  const detail::ConvGeometry geometry = detail::conv_geometry(whose, spec, X, W.shape(), windows);
  const Space range = detail::bound(whose, X, Y, geometry.outputs, geometry.channels_out);
  if (X.concrete() && range.concrete()) Convolution(spec, X, W, range, windows);
  return W;
}

}  // namespace

Space conv_weight_between(const std::string& spec, const Space& X, const Space& Y,
                          const std::vector<std::int64_t>& kernel, std::int64_t groups) {
  const std::string whose = "convolution " + spec;
  detail::check_spatial(whose, X);
  const std::vector<std::int64_t> each =
      detail::for_each_dim(whose, "kernel", kernel, static_cast<std::size_t>(X.dims() - 2));
  RIESZ_CHECK(Y.dims() == X.dims() && X.shape()[1] >= 0 && Y.shape()[1] >= 0, whose, " from ", to_string(X),
              " to ", to_string(Y), "; channels have a known extent, and both have as many dims");
  detail::check_groups(whose, groups, X.shape()[1], Y.shape()[1]);
  std::vector<std::int64_t> shape{Y.shape()[1], X.shape()[1] / groups};
  shape.insert(shape.end(), each.begin(), each.end());
  const Space W = detail::sharded_as_channels(Space(Y.partition(), shape), 0, Y);
  return groups == 1 ? detail::sharded_as_channels(W, 1, X) : W;
}

Conv::Conv(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
           const std::vector<std::int64_t>& kernel, const ConvOptions& options)
    : Conv(std::move(place), spec, X, conv_weight_between(spec, X, Y, kernel, options.windows.groups), Y,
           options) {}

Conv::Conv(OwnerAndName place, const std::string& spec, const Space& X, const Space& W, const Space& Y,
           const ConvOptions& options)
    : Layer(std::move(place)),
      spec_(spec),
      windows_(options.windows),
      weight_(parameter("weight", fitting(concat("Conv ", path()), spec, X, W, Y, options.windows),
                        {detail::conv_initial(options.initial, W.shape()), true})) {
  const std::string whose = concat("Conv ", path());
  const detail::ConvGeometry geometry = detail::conv_geometry(whose, spec, X, W.shape(), windows_);
  set_domain(X), set_range(detail::bound(whose, X, Y, geometry.outputs, geometry.channels_out));
  if (options.bias) bias_ = parameter("bias", detail::channel_space(*range()), {Initial::zeros()});
}

std::shared_ptr<const Convolution> Conv::convolution(const Space& X) {
  const Vector w = weight_.value();
  return plans_.get(
      [&](const Convolution& made) {
        return made.read(0).domain() == X && made.read(1).domain() == w.space();
      },
      [&] { return Convolution(spec_, X, w.space(), *range(), windows_); });
}

Vector Conv::forward(const Vector& x) {
  const Vector y = (*convolution(x.space()))(x, weight_.value());
  return bias_ ? detail::with_channel_bias(y, *bias_) : y;
}

std::string Conv::describe() const {
  return concat("Conv ", spec_, ", weight ", at::IntArrayRef(weight_.space().shape()), ", stride ",
                at::IntArrayRef(windows_.stride),
                windows_.groups > 1 ? concat(", groups ", windows_.groups) : "", bias_ ? ", with bias" : "");
}

}  // namespace riesz
