// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layer_norm.h"

#include <ATen/ops/layer_norm.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

Space last_dim(const std::string& name, const Space& X) {
  RIESZ_CHECK(X.dims() >= 1 && X.shape().back() != Space::any, "LayerNorm ", name, ": the last dim of ", to_string(X),
              " is of any extent; the layer needs to know it");
  const std::vector<std::string> axes = sharding_axes(X, X.dims() - 1);
  RIESZ_CHECK(axes.empty(), "LayerNorm ", name, " normalises over the last dim, which axis ", axes.front(),
              " shards in ", to_string(X), "; it must be whole: bring x there with between(X, Y)");
  return {X.partition(), {X.shape().back()}};
}

std::string letters(int dims) { return std::string("abcdefghijklmnopqrstuvwxyz").substr(0, static_cast<std::size_t>(dims)); }

}  // namespace

LayerNorm::LayerNorm(std::string name, const Space& X, double epsilon)
    : Module(name),
      domain_(X),
      epsilon_(epsilon),
      weight_("weight", last_dim(name, X), {Initial::ones()}),
      bias_("bias", last_dim(name, X), {Initial::zeros()}),
      beside_(letters(X.dims()), letters(X.dims()).substr(static_cast<std::size_t>(X.dims() - 1))) {
  adopt(weight_, bias_);
}

Vector LayerNorm::operator()(const Vector& x) {
  RIESZ_CHECK(matches(x.space(), domain_), "LayerNorm ", path(), " takes vectors of\n  ", to_string(domain_),
              "\nnot of\n  ", to_string(x.space()));
  check_not_partial("LayerNorm " + path(), x.space());
  const std::int64_t width = x.space().shape().back();
  const at::Tensor weight = beside_(x.space(), weight_.value());
  const at::Tensor bias = beside_(x.space(), bias_.value());
  if (!x.space().partition().active()) return x;
  return {x.space(), at::layer_norm(x.local(), {width}, weight.view({width}), bias.view({width}), epsilon_)};
}

std::string LayerNorm::describe() const { return "LayerNorm over the last dim of " + to_string(domain_); }

}  // namespace riesz
