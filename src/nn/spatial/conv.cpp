// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/conv.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/spatial/channel_bias.h"
#include "riesz/nn/spatial/conv_form.h"

namespace riesz {
namespace {

/// One of a weight's dims, as the channels of S lie on the axes that are free.
Space with_channels(Space W, int dim, const Space& S) {
  W = W.unit(dim, S.unit_of(1));
  for (const Shard& shard : S.shards(1)) {
    const std::string& axis = S.partition().axis(shard.axis).name;
    if (W.partition().find(axis) < 0 || W.placement(axis) == Placement::Sharded) continue;
    W = shard.overlaps() ? W.sharded(dim, axis) : W.sharded_like(dim, axis, shard);
  }
  return W;
}

/// W, once it is sure that operands of these spaces fit as far as their extents are known.
Space fitting(const std::string& whose, const std::string& spec, const Space& X, const Space& W,
              const Space& Y, const ConvWindows& windows) {
  RIESZ_CHECK(X.dims() >= 3 && X.shape()[1] != Space::any, whose, ": x lies in ", to_string(X),
              "; it has a batch, channels of a known extent, and 1 to 3 dims of space");
  const detail::ConvForm form = detail::conv_form(whose, spec, X, W.shape(), windows);
  const Space range = detail::bound(whose, form, X, Y);
  if (X.concrete() && range.concrete()) Convolution(spec, X, W, range, windows);
  return W;
}

std::vector<std::int64_t> kernel_of(const std::string& whose, const std::vector<std::int64_t>& kernel,
                                    const Space& X) {
  RIESZ_CHECK(X.dims() >= 3, whose, ": x lies in ", to_string(X),
              "; it has a batch, channels and 1 to 3 dims of space");
  return detail::for_each_dim(whose, "kernel", kernel, static_cast<std::size_t>(X.dims() - 2));
}

}  // namespace

Space conv_weight_between(const std::string& spec, const Space& X, const Space& Y,
                          const std::vector<std::int64_t>& kernel, std::int64_t groups) {
  const std::string whose = "convolution " + spec;
  const std::vector<std::int64_t> each = kernel_of(whose, kernel, X);
  RIESZ_CHECK(Y.dims() == X.dims() && X.shape()[1] >= 0 && Y.shape()[1] >= 0, whose, " from ", to_string(X),
              " to ", to_string(Y), "; channels have a known extent, and both have as many dims");
  RIESZ_CHECK(groups >= 1 && X.shape()[1] % groups == 0 && Y.shape()[1] % groups == 0, whose, ": ", groups,
              " groups of ", X.shape()[1], " channels in and ", Y.shape()[1],
              " out; the groups must divide both");
  std::vector<std::int64_t> shape{Y.shape()[1], X.shape()[1] / groups};
  shape.insert(shape.end(), each.begin(), each.end());
  const Space W = with_channels(Space(Y.partition(), shape), 0, Y);
  return groups == 1 ? with_channels(W, 1, X) : W;
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
  const detail::ConvForm form = detail::conv_form(concat("Conv ", path()), spec, X, W.shape(), windows_);
  set_domain(X), set_range(detail::bound(concat("Conv ", path()), form, X, Y));
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
