// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/instance_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/spatial/image_norm.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz {
namespace {

Vector mean_of_space(const Vector& x) {
  return mean(x, detail::spatial_dims(x.space()), {.all_reduce = true});
}

Vector mean_of_images(const Vector& moments) { return mean(moments, {0}, {.all_reduce = true}); }

}  // namespace

InstanceNorm::InstanceNorm(OwnerAndName place, const Space& X, const InstanceNormOptions& options)
    : Layer(std::move(place)),
      named_("InstanceNorm " + path()),
      options_(options),
      parameters_(detail::norm_parameters(named_, X, options.affine, options.running_stats,
                                          [this](const auto&... of) { return parameter(of...); })) {
  set_domain(X), set_range(X);
}

void InstanceNorm::track(const Vector& mean, const Vector& variance, std::int64_t elements) {
  const at::Tensor share = at::full({}, options_.momentum, mean.local().options().dtype(at::kDouble));
  const at::NoGradGuard no_gradient;
  detail::move_towards(parameters_, mean_of_images(mean), mean_of_images(variance), elements, share);
}

Vector InstanceNorm::forward(const Vector& x) {
  if (parameters_.mean && !detail::takes_moments(named_))
    return detail::by_running_moments(x, options_.epsilon, parameters_);
  const Space& X = x.space();
  const std::string letters = detail::image_letters(X);
  const Vector full = detail::in_full(x);
  const std::int64_t instances = X.shape()[0] * X.shape()[1];
  RIESZ_CHECK(X.numel() > instances || X.numel() == 0, named_, ": a channel of an image has one element in ",
              to_string(X), ", so it would become zero");
  const Vector m = mean_of_space(full);
  const Vector d = sub(full, letters, m, "bc");
  const Vector v = mean_of_space(square(d));
  const bool moves = parameters_.mean && X.numel() > 0 && PhaseScope::current() != Phase::recompute;
  if (moves) track(m, v, X.numel() / instances);
  return cast(detail::scaled(d, v, "bc", options_.epsilon, parameters_), x.local().scalar_type());
}

std::string InstanceNorm::describe() const {
  return concat("InstanceNorm, epsilon ", options_.epsilon,
                options_.affine ? "" : ", without weight and bias",
                options_.running_stats ? concat(", running moments, momentum ", options_.momentum) : "");
}

}  // namespace riesz
