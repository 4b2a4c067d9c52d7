// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/group_norm.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/on_device.h"
#include "riesz/nn/local/local_function.h"
#include "riesz/nn/spatial/image_norm.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/dims.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

/// The group of each channel that this worker holds.
at::Tensor groups_here(const Space& X, std::int64_t groups, at::Device device) {
  const std::int64_t each = X.shape()[1] / groups;
  std::vector<std::int64_t> all;
  for (const Interval& held : X.held(1, X.partition().coordinates(X.partition().rank())))
    for (std::int64_t channel = held.begin; channel < held.end; ++channel) all.push_back(channel / each);
  return on_device(at::tensor(all, at::kLong), device);
}

/// Where a number for each image and group lies: Replicated on the axes that shard channels or spatial
/// dims, or there as `placement` says.
Space space_of_groups(const Space& X, std::int64_t groups, Placement placement = Placement::Replicated) {
  Space G = insert_dim(select_dims(X, {0}), 1, groups);
  for (int dim = 1; dim < X.dims(); ++dim)
    for (const std::string& axis : sharding_axes(X, dim)) G = G.placed(axis, placement);
  return G;
}

/// From x to the means of its images and groups.
LocalFunction means_of_groups(const std::string& whose, const Space& X, std::int64_t groups) {
  const double share = static_cast<double>(X.shape()[0] * groups) / static_cast<double>(X.numel());
  const std::vector<int> dims = detail::spatial_dims(X);
  const std::vector<std::int64_t> spatial(dims.begin(), dims.end());
  const auto f = [=](const std::vector<at::Tensor>& z) {
    const at::Tensor sums = z[0].sum(spatial);
    return at::zeros({sums.size(0), groups}, sums.options())
        .index_add(1, groups_here(X, groups, sums.device()), sums)
        .mul(share);
  };
  return LocalFunction(whose, {{X, X}},
                       {space_of_groups(X, groups), space_of_groups(X, groups, Placement::Partial)}, f);
}

/// From those means to that of each channel's group, which is Copied on the axes that shard spatial
/// dims.
LocalFunction means_by_channel(const std::string& whose, const Space& X, std::int64_t groups) {
  Space channels = select_dims(X, {0, 1});
  for (const int dim : detail::spatial_dims(X))
    for (const std::string& axis : sharding_axes(X, dim)) channels = channels.copied(axis);
  return LocalFunction(whose, {{space_of_groups(X, groups), space_of_groups(X, groups, Placement::Copied)}},
                       {channels, channels}, [=](const std::vector<at::Tensor>& z) {
                         return z[0].index_select(1, groups_here(X, groups, z[0].device()));
                       });
}

}  // namespace

GroupNorm::GroupNorm(OwnerAndName place, std::int64_t groups, const Space& X, double epsilon, bool affine)
    : Layer(std::move(place)),
      named_("GroupNorm " + path()),
      groups_(groups),
      epsilon_(epsilon),
      parameters_(detail::norm_parameters(named_, X, affine, false,
                                          [this](const auto&... of) { return parameter(of...); })) {
  RIESZ_CHECK(groups >= 1 && X.shape()[1] % groups == 0, named_, ": ", groups, " groups of ", X.shape()[1],
              " channels; the groups must divide them");
  for (int dim = 1; dim < X.dims(); ++dim) detail::check_no_copies(named_, X, dim);
  set_domain(X), set_range(X);
}

Vector GroupNorm::forward(const Vector& x) {
  const auto mean_of = [this, &X = x.space()](const Vector& z) {
    const Vector each = sums_(z, [&](const Space& Z) { return means_of_groups(named_, Z, groups_); });
    // The means' space decides: a call's X has the layer's sharding and channels, and of X's extents the
    // function reads the batch alone.
    return spread_(each, [&](const Space&) { return means_by_channel(named_, X, groups_); });
  };
  const Vector full = detail::in_full(x);
  const Vector d = sub(full, detail::image_letters(x.space()), mean_of(full), "bc");
  return cast(detail::scaled(d, mean_of(square(d)), "bc", epsilon_, parameters_), x.local().scalar_type());
}

std::string GroupNorm::describe() const {
  return concat("GroupNorm of ", groups_, " groups, epsilon ", epsilon_,
                parameters_.weight ? "" : ", without weight and bias");
}

}  // namespace riesz
