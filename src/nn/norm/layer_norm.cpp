// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/layer_norm.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

LayerNorm::LayerNorm(std::string name, const Space& X, double epsilon)
    : Module(name),
      domain_(X),
      epsilon_(epsilon),
      weight_("weight", beside_last_dim("LayerNorm " + name, X), {Initial::ones()}),
      bias_("bias", weight_.space(), {Initial::zeros()}),
      beside_(letters_of(X), letters_of(X).substr(static_cast<std::size_t>(X.dims() - 1))) {
  adopt(weight_, bias_);
}

Vector LayerNorm::operator()(const Vector& x) {
  const LayerScope layer = layer_scope();
  const Space& X = x.space();
  RIESZ_CHECK(matches(X, domain_), "LayerNorm ", path(), " takes vectors of\n  ", to_string(domain_),
              "\nnot of\n  ", to_string(X));
  check_not_partial("LayerNorm " + path(), X);
  const at::Tensor weight = beside_(X, weight_.value());
  const at::Tensor bias = beside_(X, bias_.value());
  const bool here = X.partition().active();
  if (sharding_axes(X, X.dims() - 1).empty()) {
    if (!here) return x;
    const std::int64_t width = X.shape().back();
    return {X, at::layer_norm(x.local(), {width}, weight.view({width}), bias.view({width}), epsilon_)};
  }
  const at::Tensor sums = here ? to_accumulation_type(x.local()).sum({-1}) : x.local();
  const at::Tensor mean = row_mean(X, sums);
  const at::Tensor variance = row_mean(X, here ? squared_deviations(x.local(), mean) : sums);
  if (!here) return x;
  return {X, normalised(x.local(), {mean, at::rsqrt(variance.add(epsilon_)), weight, bias})};
}

std::string LayerNorm::describe() const { return "LayerNorm over the last dim of " + to_string(domain_); }

}  // namespace riesz
