// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/layer_norm.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

using detail::Joins;
using detail::read_beside;

LayerNorm::LayerNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon)
    : LayerNorm({owner, name}, owner.spaces().vector(letters), epsilon) {}

LayerNorm::LayerNorm(Part part, const Space& X, double epsilon)
    : Layer(std::move(part)),
      epsilon_(epsilon),
      weight_(parameter("weight", beside_last_dim("LayerNorm " + path(), X), {Initial::ones()})),
      bias_(parameter("bias", weight_.space(), {Initial::zeros()})),
      letters_(letters_of(X)) {
  leads_from(X), leads_to(X);
}

Vector LayerNorm::forward(const Vector& x) {
  const Space& X = x.space();
  check_normalises("LayerNorm " + path(), X);
  const Vector w = weight_.value();
  check_one_device("LayerNorm", x, w);
  const at::Tensor weight = read_beside("LayerNorm", Joins::product, X, letters_, w,
                                        letters_.substr(letters_.size() - 1));
  const at::Tensor bias =
      read_beside("LayerNorm", Joins::sum, X, letters_, bias_.value(), letters_.substr(letters_.size() - 1));
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

std::string LayerNorm::describe() const { return concat("LayerNorm over the last dim, epsilon ", epsilon_); }

}  // namespace riesz
