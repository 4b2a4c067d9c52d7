// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/norm.h"

#include <ATen/ops/rsqrt.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/norm/row_norm.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

/// A weight or bias of the last dim, w, as it stands beside x.
at::Tensor beside_rows(const char* layer, detail::BesideAs as, const Space& X, const std::string& letters,
                       const Vector& w) {
  return detail::read_beside(layer, as, X, letters, w, letters.substr(letters.size() - 1));
}

/// Σ over each row here, in at least fp32; nothing outside the partition.
at::Tensor row_sums(const Vector& x) {
  return x.space().partition().active() ? detail::to_accumulation_type(x.local()).sum({-1}) : x.local();
}

at::Tensor row_squares(const Vector& x, const at::Tensor& mean) {
  return x.space().partition().active() ? detail::squared_deviations(x.local(), mean) : x.local();
}

}  // namespace

LayerNorm::LayerNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon)
    : LayerNorm({owner, name}, owner.spaces_of(name).stream_or_inside(letters), epsilon) {}

LayerNorm::LayerNorm(OwnerAndName place, const Space& X, double epsilon)
    : Layer(std::move(place)),
      named_("LayerNorm " + path()),
      epsilon_(epsilon),
      weight_(parameter("weight", detail::beside_last_dim(named_, X), {Initial::ones()})),
      bias_(parameter("bias", weight_.space(), {Initial::zeros()})),
      letters_(detail::letters_of(X)) {
  set_domain(X), set_range(X);
}

Vector LayerNorm::forward(const Vector& x) {
  const Space& X = x.space();
  detail::check_normalises(named_, X);
  const Vector w = weight_.value();
  check_one_device("LayerNorm", x, w);
  const at::Tensor weight = beside_rows("LayerNorm", detail::BesideAs::product, X, letters_, w);
  const at::Tensor bias = beside_rows("LayerNorm", detail::BesideAs::sum, X, letters_, bias_.value());
  const bool constant = x.is_constant() && w.is_constant() && !bias_.trained();
  if (sharding_axes(X, X.dims() - 1).empty()) {
    return detail::local_op(X, {x.local(), weight, bias}, constant,
                            [&] { return detail::row_norm(x.local(), weight, bias, epsilon_); });
  }
  const at::Tensor mean = detail::row_mean(X, row_sums(x), x.is_constant());
  const at::Tensor variance = detail::row_mean(X, row_squares(x, mean), x.is_constant());
  return detail::local_op(X, {x.local(), weight, bias}, constant, [&] {
    return detail::normalised(x.local(), {mean, at::rsqrt(variance.add(epsilon_)), weight, bias});
  });
}

std::string LayerNorm::describe() const { return concat("LayerNorm over the last dim, epsilon ", epsilon_); }

RmsNorm::RmsNorm(Module& owner, const std::string& name, const std::string& letters, double epsilon)
    : RmsNorm({owner, name}, owner.spaces_of(name).stream_or_inside(letters), epsilon) {}

RmsNorm::RmsNorm(OwnerAndName place, const Space& X, double epsilon)
    : Layer(std::move(place)),
      named_("RmsNorm " + path()),
      epsilon_(epsilon),
      weight_(parameter("weight", detail::beside_last_dim(named_, X), {Initial::ones()})),
      letters_(detail::letters_of(X)) {
  set_domain(X), set_range(X);
}

Vector RmsNorm::forward(const Vector& x) {
  const Space& X = x.space();
  detail::check_normalises(named_, X);
  const Vector w = weight_.value();
  check_one_device("RmsNorm", x, w);
  const at::Tensor weight = beside_rows("RmsNorm", detail::BesideAs::product, X, letters_, w);
  const bool constant = x.is_constant() && w.is_constant();
  if (sharding_axes(X, X.dims() - 1).empty()) {
    return detail::local_op(X, {x.local(), weight}, constant,
                            [&] { return detail::row_norm(x.local(), weight, {}, epsilon_); });
  }
  const at::Tensor mean_square = detail::row_mean(X, row_squares(x, {}), x.is_constant());
  return detail::local_op(X, {x.local(), weight}, constant, [&] {
    return detail::normalised(x.local(), {{}, at::rsqrt(mean_square.add(epsilon_)), weight, {}});
  });
}

std::string RmsNorm::describe() const { return concat("RmsNorm over the last dim, epsilon ", epsilon_); }

}  // namespace riesz
