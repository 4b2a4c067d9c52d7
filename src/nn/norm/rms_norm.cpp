// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/rms_norm.h"

#include <ATen/ops/rms_norm.h>
#include <ATen/ops/rsqrt.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/partition/space_dims.h"

namespace riesz {

using detail::Joins;
using detail::read_beside;

RmsNorm::RmsNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon)
    : RmsNorm({owner, name}, owner.spaces().vector(letters), epsilon) {}

RmsNorm::RmsNorm(Part part, const Space& X, double epsilon)
    : Layer(std::move(part)),
      epsilon_(epsilon),
      weight_(parameter("weight", beside_last_dim("RmsNorm " + path(), X), {Initial::ones()})),
      letters_(letters_of(X)) {
  leads_from(X), leads_to(X);
}

Vector RmsNorm::forward(const Vector& x) {
  const Space& X = x.space();
  check_normalises("RmsNorm " + path(), X);
  const Vector w = weight_.value();
  check_one_device("RmsNorm", x, w);
  const at::Tensor weight = read_beside("RmsNorm", Joins::product, X, letters_, w,
                                        letters_.substr(letters_.size() - 1));
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

std::string RmsNorm::describe() const { return concat("RmsNorm over the last dim, epsilon ", epsilon_); }

}  // namespace riesz
