// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/spatial/image_norm.h"

#include <ATen/core/grad_mode.h>

#include "riesz/comm/error.h"
#include "riesz/nn/context.h"
#include "riesz/nn/norm/moments.h"
#include "riesz/nn/spatial/channel_bias.h"
#include "riesz/nn/spatial/spatial_dims.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz::detail {
namespace {

/// Moves a running moment by `share`, a scalar, towards `now` times `factor`.
void move_one(Parameter& running, const Vector& now, double factor, const at::Tensor& share) {
  const Vector there = to_space(now, running.space()), before = running.get();
  if (!running.space().partition().active()) return;
  const at::Tensor& old = before.local();
  // Rounded once: in half types the two weights would not add up to 1.
  const at::Tensor moment = there.local().to(at::kDouble).mul(factor);
  const at::Tensor blend = old.to(at::kDouble).mul(share.neg().add(1)).add(moment.mul(share));
  running.set(Vector(running.space(), blend.to(old.scalar_type())));
}

}  // namespace

std::string image_letters(const Space& X) {
  return "bc" + std::string("dhw").substr(static_cast<std::size_t>(5 - X.dims()));
}

NormParameters norm_parameters(const std::string& whose, const Space& X, bool affine, bool running,
                               const MakeParameter& make) {
  check_known_channels(whose, X);
  check_normalises(whose, X);
  const Space C = channel_space(X);
  NormParameters all;
  if (affine) all.weight = make("weight", C, {Initial::ones()}), all.bias = make("bias", C, {});
  if (running) {
    all.mean = make("running_mean", C, {.trained = false});
    all.variance = make("running_var", C, {.initial = Initial::ones(), .trained = false});
    all.batches =
        make("num_batches_tracked", Space(C.partition(), {}), {.trained = false, .type = at::kLong});
  }
  return all;
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

void move_towards(NormParameters& parameters, const Vector& mean, const Vector& variance, std::int64_t n,
                  const at::Tensor& share) {
  const at::NoGradGuard no_gradient;
  const auto elements = static_cast<double>(n);
  move_one(*parameters.mean, mean, 1, share);
  move_one(*parameters.variance, variance, elements / (elements - 1), share);
}

Vector scaled(const Vector& d, const Vector& variance, const std::string& letters, double epsilon,
              const NormParameters& parameters) {
  const std::string of_d = image_letters(d.space());
  Vector scale = map("norm", variance, [epsilon](const at::Tensor& v) { return v.add(epsilon).rsqrt(); });
  if (parameters.weight) scale = mul(scale, letters, in_full(parameters.weight->value()), "c");
  const Vector y = mul(d, of_d, scale, letters);
  return parameters.bias ? add(y, of_d, in_full(parameters.bias->value()), "c") : y;
}

Vector by_running_moments(const Vector& x, double epsilon, const NormParameters& parameters) {
  const Vector d = sub(in_full(x), image_letters(x.space()), in_full(parameters.mean->value()), "c");
  return cast(scaled(d, in_full(parameters.variance->value()), "c", epsilon, parameters),
              x.local().scalar_type());
}

}  // namespace riesz::detail
