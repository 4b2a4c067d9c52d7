// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/image_norm.h"

#include "riesz/comm/error.h"
#include "riesz/nn/context.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::detail {

std::string image_letters(const Space& X) {
  return "bc" + std::string("dhw").substr(static_cast<std::size_t>(5 - X.dims()));
}

std::vector<int> dims_of_space(const Space& X) {
  std::vector<int> dims;
  for (int dim = 2; dim < X.dims(); ++dim) dims.push_back(dim);
  return dims;
}

void check_image_norm(const std::string& whose, const Space& X) {
  RIESZ_CHECK(X.dims() >= 3 && X.dims() <= 5 && X.shape()[1] != Space::any, whose, ": x lies in ",
              to_string(X), "; it has a batch, channels of a known extent, and 1 to 3 dims of space");
  check_normalises(whose, X);
}

Vector in_full(const Vector& x) {
  const at::ScalarType type = x.local().scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? cast(x, at::kFloat) : x;
}

bool takes_moments(const std::string& whose) {
  RIESZ_CHECK(ContextScope::current() != nullptr, whose,
              " is called in no context, so it cannot know whether to take the moments of its batch; say "
              "const ContextScope scope({.training = ...}) around the model's call");
  return ContextScope::current()->training;
}

void move_towards(Parameter& running, const Vector& now, double factor, const at::Tensor& share) {
  const Vector there = to_space(now, running.space()), before = running.get();
  if (!running.space().partition().active()) return;
  const at::Tensor& old = before.local();
  // Rounded once: in half types the two weights would not add up to 1.
  const at::Tensor moment = there.local().to(at::kDouble).mul(factor);
  const at::Tensor blend = old.to(at::kDouble).mul(share.neg().add(1)).add(moment.mul(share));
  running.set(Vector(running.space(), blend.to(old.scalar_type())));
}

Vector scaled(const Vector& d, const Vector& variance, const std::string& by, double epsilon,
              const std::optional<Parameter>& weight, const std::optional<Parameter>& bias) {
  const std::string letters = image_letters(d.space());
  Vector scale = map("norm", variance, [epsilon](const at::Tensor& v) { return v.add(epsilon).rsqrt(); });
  if (weight) scale = mul(scale, by, in_full(weight->value()), "c");
  const Vector y = mul(d, letters, scale, by);
  return bias ? add(y, letters, in_full(bias->value()), "c") : y;
}

Vector by_running_moments(const Vector& x, const Parameter& mean, const Parameter& variance, double epsilon,
                          const std::optional<Parameter>& weight, const std::optional<Parameter>& bias) {
  const Vector d = sub(in_full(x), image_letters(x.space()), in_full(mean.value()), "c");
  return cast(scaled(d, in_full(variance.value()), "c", epsilon, weight, bias), x.local().scalar_type());
}

}  // namespace riesz::detail
