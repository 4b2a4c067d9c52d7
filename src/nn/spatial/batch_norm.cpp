// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/batch_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/spatial/channel_bias.h"
#include "riesz/nn/spatial/image_norm.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz {
namespace {

std::vector<int> all_but_channels(const Space& X) {
  std::vector<int> dims = detail::dims_of_space(X);
  dims.insert(dims.begin(), 0);
  return dims;
}

}  // namespace

BatchNorm::BatchNorm(OwnerAndName place, const Space& X, const BatchNormOptions& options)
    : Layer(std::move(place)), named_("BatchNorm " + path()), options_(options) {
  detail::check_image_norm(named_, X);
  const Space C = detail::channel_space(X);
  if (options.affine) weight_ = parameter("weight", C, {Initial::ones()}), bias_ = parameter("bias", C, {});
  if (options.running_stats) {
    mean_ = parameter("running_mean", C, {.trained = false});
    variance_ = parameter("running_var", C, {.initial = Initial::ones(), .trained = false});
    batches_ =
        parameter("num_batches_tracked", Space(C.partition(), {}), {.trained = false, .type = at::kLong});
  }
  set_domain(X), set_range(X);
}

void BatchNorm::track(const Vector& mean, const Vector& variance, std::int64_t elements) {
  const at::NoGradGuard no_gradient;
  const Vector before = batches_->get();
  const bool here = before.space().partition().active();
  const at::Tensor count = here ? before.local().add(1) : before.local();
  batches_->set(Vector(before.space(), count));
  const at::Tensor share = options_.momentum ? at::full_like(count, *options_.momentum, at::kDouble)
                                             : count.to(at::kDouble).reciprocal();
  const auto n = static_cast<double>(elements);
  detail::move_towards(*mean_, mean, 1, share);
  detail::move_towards(*variance_, variance, n / (n - 1), share);
}

Vector BatchNorm::forward(const Vector& x) {
  const bool training = detail::takes_moments(named_);
  if (!training && mean_)
    return detail::by_running_moments(x, *mean_, *variance_, options_.epsilon, weight_, bias_);
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
  if (training && mean_ && PhaseScope::current() != Phase::recompute) track(m, v, n);
  return cast(detail::scaled(d, v, "c", options_.epsilon, weight_, bias_), x.local().scalar_type());
}

std::string BatchNorm::describe() const {
  const std::string by =
      options_.momentum ? concat(", momentum ", *options_.momentum) : ", means of all batches";
  return concat("BatchNorm, epsilon ", options_.epsilon, by,
                options_.affine ? "" : ", without weight and bias",
                options_.running_stats ? "" : ", without running moments");
}

}  // namespace riesz
