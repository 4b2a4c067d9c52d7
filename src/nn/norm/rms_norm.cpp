// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/rms_norm.h"

#include <ATen/ops/rms_norm.h>
#include <ATen/ops/rsqrt.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

RmsNorm::RmsNorm(std::string name, const Space& X, double epsilon)
    : Module(name),
      domain_(X),
      epsilon_(epsilon),
      weight_("weight", beside_last_dim("RmsNorm " + name, X), {Initial::ones()}),
      beside_(letters_of(X), letters_of(X).substr(static_cast<std::size_t>(X.dims() - 1))) {
  adopt(weight_);
}

Vector RmsNorm::operator()(const Vector& x) {
  const LayerScope layer = layer_scope();
  const Space& X = x.space();
  RIESZ_CHECK(matches(X, domain_), "RmsNorm ", path(), " takes vectors of\n  ", to_string(domain_),
              "\nnot of\n  ", to_string(X));
  check_not_partial("RmsNorm " + path(), X);
  const at::Tensor weight = beside_(X, weight_.value());
  const bool here = X.partition().active();
  if (sharding_axes(X, X.dims() - 1).empty()) {
    if (!here) return x;
    const std::int64_t width = X.shape().back();
    return {X, at::rms_norm(x.local(), {width}, weight.view({width}), epsilon_)};
  }
  const at::Tensor mean_square = row_mean(X, here ? squared_deviations(x.local(), {}) : x.local());
  if (!here) return x;
  return {X, normalised(x.local(), {{}, at::rsqrt(mean_square.add(epsilon_)), weight, {}})};
}

std::string RmsNorm::describe() const { return "RmsNorm over the last dim of " + to_string(domain_); }

}  // namespace riesz
