// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/linear.h"

#include <ATen/ops/add.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction/plan.h"
#include "riesz/nn/contraction/spec.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/held_once.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz {
namespace {

/// The space of some of Y's indices, placed where Y shards them, else where X does, else Replicated.
Space taken_from(const std::string& wanted, const detail::Indices& indices, const Space& X, const Space& Y) {
  std::vector<std::int64_t> shape;
  for (const char index : wanted) {
    const std::size_t in_y = indices[2].find(index);
    shape.push_back(in_y != std::string::npos ? Y.shape()[in_y] : X.shape()[indices[0].find(index)]);
  }
  Space W(Y.partition(), shape);
  for (std::size_t dim = 0; dim < wanted.size(); ++dim) {
    const bool from_y = indices[2].find(wanted[dim]) != std::string::npos;
    const Space& S = from_y ? Y : X;
    const int of = static_cast<int>(indices[from_y ? 2 : 0].find(wanted[dim]));
    W = W.unit(static_cast<int>(dim), S.unit_of(of));
    for (const Shard& shard : S.shards(of)) {
      const Axis& axis = S.partition().axis(shard.axis);
      const int y_dim = Y.dim_of(Y.partition().index(axis.name));
      const bool y_has =
          y_dim >= 0 && wanted.find(indices[2][static_cast<std::size_t>(y_dim)]) != std::string::npos;
      if (!from_y && y_has) continue;
      // what is stored has no copies, such as key heads that several workers use
      W = shard.overlaps() ? W.sharded(static_cast<int>(dim), axis.name)
                           : W.sharded_like(static_cast<int>(dim), axis.name, shard);
    }
  }
  return W;
}

std::string common(const std::string& a, const std::string& b) {
  std::string both;
  for (const char index : a) {
    if (b.find(index) != std::string::npos) both += index;
  }
  return both;
}

/// The bias lies where y does on the indices that the weight shares with it.
Space bias_space(const detail::Indices& indices, const Space& W, const Space& Y) {
  return taken_from(common(indices[1], indices[2]), {indices[1], "", indices[2]}, W, Y);
}

/// X with the extents that it leaves open and w or y has.
Space closed(const detail::Indices& indices, const Space& X, const Space& W, const Space& Y) {
  std::vector<std::int64_t> shape = X.shape();
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    for (std::size_t k = 1; k < 3; ++k) {
      const std::size_t there = indices[k].find(indices[0][dim]);
      if (shape[dim] == Space::any && there != std::string::npos)
        shape[dim] = (k == 1 ? W : Y).shape()[there];
    }
  }
  return X.with_shape(shape);
}

/// The weight's space, once it is sure that operands of these spaces can be multiplied.
Space fitting(const std::string& layer, const std::string& spec, const Space& X, const Space& W,
              const Space& Y) {
  const detail::Indices indices = detail::parse_indices(spec);
  const std::string whose = concat("Linear ", layer);
  detail::check_dims(whose, indices[0], X);
  detail::check_dims(whose, indices[1], W);
  detail::check_dims(whose, indices[2], Y);
  RIESZ_CHECK(W.concrete(), whose, " ", spec, ": a weight of\n  ", to_string(W),
              "\nwould have dims of any extent; only indices that it has not may be of any in\n  ",
              to_string(X), "\nand\n  ", to_string(Y));
  detail::bind(indices, closed(indices, X, W, Y), W, Y, whose);
  return W;
}

/// The extents of w's letters, neighbours of one side together.
std::vector<std::int64_t> published(const ModelSpaces& spaces, const std::string& letters,
                                    const std::string& y) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto gives = [&](std::size_t at) { return y.find(letters[at]) != std::string::npos; };
    const std::int64_t n = spaces.extent(letters[i]);
    if (i > 0 && gives(i) == gives(i - 1))
      shape.back() *= n;
    else
      shape.push_back(n);
  }
  return shape;
}

LinearOptions as_published(LinearOptions options, const ModelSpaces& spaces, const std::string& spec) {
  const auto& [x, w, y] = detail::parse_indices(spec);
  if (options.weight_shape.empty()) options.weight_shape = published(spaces, w, y);
  if (options.bias_shape.empty()) options.bias_shape = published(spaces, common(w, y), y);
  return options;
}

}  // namespace

Space weight_between(const std::string& spec, const Space& X, const Space& Y) {
  const detail::Indices indices = detail::parse_indices(spec);
  detail::check_dims("weight_between " + spec, indices[0], X);
  detail::check_dims("weight_between " + spec, indices[2], Y);
  return taken_from(indices[1], indices, X, Y);
}

Linear::Linear(Module& owner, const std::string& name, const std::string& spec, LinearOptions options)
    : Linear({owner, name}, spec, owner.spaces_of(name).stream_or_inside(detail::parse_indices(spec)[0]),
             options.weight, owner.spaces_of(name).weight(spec),
             owner.spaces_of(name).stream_or_inside(detail::parse_indices(spec)[2]),
             as_published(options, owner.spaces_of(name), spec)) {}

Linear::Linear(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
               const LinearOptions& options)
    : Linear(
          std::move(place), spec, X,
          options.weight != nullptr ? options.weight->space().on(X.partition()) : weight_between(spec, X, Y),
          Y, options) {}

Linear::Linear(OwnerAndName place, const std::string& spec, const Space& X, const Space& W, const Space& Y,
               const LinearOptions& options)
    : Linear(std::move(place), spec, X, options.weight, W, Y, options) {}

Linear::Linear(OwnerAndName place, const std::string& spec, const Space& X, const Parameter& weight,
               const Space& Y, const LinearOptions& options)
    : Linear(std::move(place), spec, X, &weight, weight.space().on(X.partition()), Y, options) {}

Linear::Linear(OwnerAndName place, const std::string& spec, const Space& X, const Parameter* weight,
               const Space& W, const Space& Y, const LinearOptions& options)
    : Layer(std::move(place)),
      spec_(spec),
      y_indices_(detail::parse_indices(spec)[2]),
      bias_indices_(common(detail::parse_indices(spec)[1], y_indices_)),
      weight_(weight != nullptr ? lent_parameter(*weight, W)
                                : parameter("weight", fitting(path(), spec, X, W, Y),
                                            {options.initial, true, options.weight_shape})),
      options_(options.contraction) {
  if (weight != nullptr) fitting(path(), spec, X, weight_.space(), Y);
  complete(X, Y, options);
}

void Linear::complete(const Space& X, const Space& Y, const LinearOptions& options) {
  const detail::Indices indices = detail::parse_indices(spec_);
  set_domain(X);
  set_range(options.terms ? detail::as_terms(indices, X, weight_.space(), Y) : Y);
  terms_ = options.terms;
  options_.w_is_parameter = true;
  if (!options.bias) return;
  bias_ = parameter("bias", bias_space(indices, weight_.space(), Y),
                    {Initial::zeros(), false, options.bias_shape});
}

Vector Linear::product(const Vector& x) {
  const Vector w = weight_.value();
  const auto plan = plans_.get(
      [&](const Contraction& made) {
        return made.read(0).domain() == x.space() && made.read(1).domain() == w.space();
      },
      [&] { return Contraction(spec_, x.space(), w.space(), *range(), options_); });
  return (*plan)(x, w);
}

Vector Linear::forward(const Vector& x) {
  const Vector y = product(x);
  return bias_ ? with_bias(y) : y;
}

Vector Linear::forward(const Vector& x, const Activation& a) {
  const Vector y = product(x);
  return bias_ ? activate_sum(a, y_indices_ + "," + bias_indices_, y, bias_->value()) : activate(a, y);
}

/// Of y's type, which may be a compute type. The bias is read as it is stored, so its gradient is summed over
/// workers in its own.
Vector Linear::with_bias(const Vector& y) const {
  const at::Tensor b =
      detail::read_beside("add", detail::BesideAs::sum, y.space(), y_indices_, bias_->value(), bias_indices_);
  const bool constant = y.is_constant() && !bias_->trained();
  return detail::local_op(y.space(), {y.local(), b}, constant, [&] {
    const at::Tensor& of_x = y.local();
    const at::Tensor bias = b.to(of_x.scalar_type());
    return detail::held_once(of_x) ? of_x.add_(bias) : at::add(of_x, bias);
  });
}

std::string Linear::describe() const {
  return "Linear " + spec_ + (bias_ ? " with bias" : "") + (terms_ ? ", left as terms" : "");
}

}  // namespace riesz
