// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/spectral_convolution.h"

#include <ATen/ops/tensor.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/conv_geometry.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

struct SpectralConvolution::Plan {
  Space X;
  Operator there, back;
};

namespace {

using Extents = std::vector<std::int64_t>;

Extents frequencies_of_modes(const std::string& whose, const Space& X, const Space& Y, const Extents& modes) {
  detail::check_known_channels(whose, X);
  RIESZ_CHECK(Y.dims() == X.dims() && Y.shape()[1] != Space::any, whose, " from ", to_string(X), " to ",
              to_string(Y), "; both have as many dims, and channels of a known extent");
  Extents all = detail::for_each_dim(whose, "modes", modes, static_cast<std::size_t>(X.dims() - 2));
  for (std::size_t i = 0; i < all.size(); ++i) {
    RIESZ_CHECK(all[i] >= 1, whose, ": ", all[i], " modes in spatial dim ", i, "; there is at least 1");
    if (i + 1 < all.size()) all[i] *= 2;
  }
  return all;
}

/// S, whose spatial dims are sharded by the axes that shard the same dims of X, where they are free.
Space with_spatial_axes_of(const Space& X, Space S) {
  for (int dim = 2; dim < X.dims(); ++dim) {
    for (const Shard& shard : X.shards(dim)) {
      const std::string& axis = X.partition().axis(shard.axis).name;
      const bool free = S.partition().find(axis) >= 0 && S.placement(axis) != Placement::Sharded;
      if (free) S = S.sharded(dim, axis);
    }
  }
  return S;
}

Space weight_space(const Space& X, const Space& Y, const Extents& frequencies) {
  const Space W = with_spatial_axes_of(X, conv_weight_between("spectral", X, Y, frequencies));
  return insert_dim(W, W.dims(), 2);
}

/// Batch and channels as in S, the kept frequencies as the spatial dims of X.
Space frequency_space(const Space& X, const Space& S, const Extents& frequencies) {
  Space Z = select_dims(S, {0, 1});
  for (const std::int64_t m : frequencies) Z = insert_dim(Z, Z.dims(), m);
  Z = with_spatial_axes_of(X, Z);
  return insert_dim(Z, Z.dims(), 2);
}

/// Y with every dim bound: a spatial dim of any extent is that of x.
Space bound_as(const Space& X, const Space& Y) {
  Extents shape = Y.shape();
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] == Space::any) shape[dim] = X.shape()[dim];
  return Y.with_shape(shape);
}

/// j[z, p, r]: how part z of one number and part p of another are in part r of their product.
Vector product_of_parts(const Partition& grid, const at::Tensor& like) {
  const at::Tensor j = at::tensor({1, 0, 0, 1, 0, 1, -1, 0}, like.scalar_type()).view({2, 2, 2});
  return constant(distribute(Space(grid, {2, 2, 2}), on_device(j, like.device())));
}

}  // namespace

SpectralConvolution::SpectralConvolution(OwnerAndName place, const Space& X, const Space& Y,
                                         const Extents& modes)
    : Layer(std::move(place)),
      modes_(modes),
      frequencies_(frequencies_of_modes(concat("SpectralConvolution ", path()), X, Y, modes)),
      weight_(
          parameter("weight", weight_space(X, Y, frequencies_),
                    {Initial::uniform(0, 1.0 / static_cast<double>(X.shape()[1] * Y.shape()[1])), true})) {
  set_domain(X), set_range(Y);
  if (X.concrete()) planned(X);
}

SpectralConvolution::Plan SpectralConvolution::planned(const Space& X) const {
  const std::string whose = concat("SpectralConvolution ", path());
  for (std::size_t i = 0; i < frequencies_.size(); ++i) {
    const bool last = i + 1 == frequencies_.size();
    const std::int64_t n = X.shape()[i + 2], most = last ? n / 2 + 1 : n / 2 * 2;
    RIESZ_CHECK(frequencies_[i] <= most, whose, ": ", last ? frequencies_[i] : frequencies_[i] / 2,
                " modes in spatial dim ", i, ", which has ", n, " elements in ", to_string(X),
                ", and so at most ", last ? most : most / 2);
  }
  const Space Y = bound_as(X, *range());
  const Space Z = frequency_space(X, X, frequencies_), V = frequency_space(X, Y, frequencies_);
  const Extents extents = detail::spatial_extents(Y);
  return {X, rfft(X, detail::spatial_dims(X), {.extents = frequencies_, .range = Z}),
          irfft(V, detail::spatial_dims(X), {.extents = extents, .range = Y})};
}

Vector SpectralConvolution::forward(const Vector& x) {
  const auto plan =
      plans_.get([&](const Plan& made) { return made.X == x.space(); }, [&] { return planned(x.space()); });
  const std::string k = std::string("klm").substr(0, frequencies_.size());
  const Vector z = plan->there(x);
  const Vector j = product_of_parts(z.space().partition(), z.local());
  const Vector pairs =
      contract("bc" + k + "z,zpr->bc" + k + "pr", z, j, insert_dim(z.space(), z.space().dims(), 2));
  const std::string product = "bc" + k + "pr,oc" + k + "p->bo" + k + "r";
  return plan->back(contract(product, pairs, weight_.value(), plan->back.domain(), {.w_is_parameter = true}));
}

std::string SpectralConvolution::describe() const {
  return concat("SpectralConvolution of modes ", at::IntArrayRef(modes_), ", weight ",
                at::IntArrayRef(weight_.space().shape()));
}

}  // namespace riesz
