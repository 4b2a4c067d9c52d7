// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/batch_norm.h"

#include <ATen/ops/full_like.h>

#include <algorithm>
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

std::vector<int> all_but_channels(const Space& X) {
  std::vector<int> dims = detail::spatial_dims(X);
  dims.insert(dims.begin(), 0);
  return dims;
}

}  // namespace

BatchNorm::BatchNorm(OwnerAndName place, const Space& X, const BatchNormOptions& options)
    : Layer(std::move(place)),
      named_("BatchNorm " + path()),
      options_(options),
      parameters_(detail::norm_parameters(named_, X, options.affine, options.running_stats,
                                          [this](const auto&... of) { return parameter(of...); })) {
  set_domain(X), set_range(X);
}

void BatchNorm::track(const Vector& mean, const Vector& variance, std::int64_t elements) {
  const Vector before = parameters_.batches->get();
  const bool here = before.space().partition().active();
  const at::Tensor count = here ? before.local().add(1) : before.local();
  parameters_.batches->set(Vector(before.space(), count));
  const at::Tensor share = options_.momentum ? at::full_like(count, *options_.momentum, at::kDouble)
                                             : count.to(at::kDouble).reciprocal();
  detail::move_towards(parameters_, mean, variance, elements, share);
}

Vector BatchNorm::forward(const Vector& x) {
  const bool training = detail::takes_moments(named_);
  if (!training && parameters_.mean) return detail::by_running_moments(x, options_.epsilon, parameters_);
  const Space& X = x.space();
  const std::string letters = detail::image_letters(X);
  const Vector full = detail::in_full(x);
  const std::vector<int> over = all_but_channels(X);
  const std::int64_t n = X.numel() / std::max<std::int64_t>(1, X.shape()[1]);
  RIESZ_CHECK(n > 1, named_, ": a channel has ", n, " elements in ", to_string(X),
              "; the moments of a batch need more than one");
  const Vector m = mean(full, over, {.all_reduce = true});
  const Vector d = sub(full, letters, m, "c");
  const Vector v = mean(square(d), over, {.all_reduce = true});
  if (parameters_.mean && PhaseScope::current() != Phase::recompute) track(m, v, n);
  return cast(detail::scaled(d, v, "c", options_.epsilon, parameters_), x.local().scalar_type());
}

std::string BatchNorm::describe() const {
  const std::string by =
      options_.momentum ? concat(", momentum ", *options_.momentum) : ", means of all batches";
  return concat("BatchNorm, epsilon ", options_.epsilon, by,
                options_.affine ? "" : ", without weight and bias",
                options_.running_stats ? "" : ", without running moments");
}

}  // namespace riesz
