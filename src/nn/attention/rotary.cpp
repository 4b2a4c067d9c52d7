// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>

#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

/// Of this worker's positions, in fp64, as (T, 1, dims/2).
at::Tensor angles(const Intervals& held, std::int64_t dims, const RotaryOptions& options) {
  std::vector<at::Tensor> runs{at::arange(0, at::kDouble)};
  for (const Interval& run : held) runs.push_back(at::arange(run.begin, run.end, at::kDouble));
  const at::Tensor positions = at::cat(runs).add(static_cast<double>(options.offset));
  const at::Tensor exponents = at::arange(0, dims, 2, at::kDouble).div(-static_cast<double>(dims));
  return at::outer(positions, at::pow(options.base, exponents)).unsqueeze(1);
}

void check_whole_width(const Space& X, std::int64_t dims) {
  RIESZ_CHECK(X.dims() >= 3, "rotary takes (..., T, heads, d), not ", to_string(X));
  const std::vector<std::string> axes = sharding_axes(X, X.dims() - 1);
  RIESZ_CHECK(axes.empty(), "rotary turns pairs of the head width, dim ", X.dims() - 1, ", which axis ",
              axes.front(), " shards in ", to_string(X),
              "; it must be whole: bring x there with between(X, Y)");
  RIESZ_CHECK(dims >= 0 && dims <= X.shape().back() && dims % 2 == 0, "rotary: ", dims,
              " dims of the head width of ", to_string(X),
              "; they turn in pairs, so an even number of at most ", X.shape().back());
}

}  // namespace

Vector rotary(const Vector& x, const RotaryOptions& options) {
  const Space& X = x.space();
  const std::int64_t dims = options.dims.value_or(X.dims() > 0 ? X.shape().back() : 0);
  check_whole_width(X, dims);
  if (!X.partition().active() || dims == 0) return x;
  const bool half = x.local().scalar_type() == at::kHalf || x.local().scalar_type() == at::kBFloat16;
  const at::Tensor all = half ? x.local().to(at::kFloat) : x.local();
  const Intervals positions = X.boxes(X.partition().rank())[static_cast<std::size_t>(X.dims() - 3)];
  const at::Tensor angle = angles(positions, dims, options);
  const at::Tensor cosine = at::cos(angle).to(all.options());
  const at::Tensor sine = at::sin(angle).to(all.options());
  const at::Tensor pairs = all.narrow(-1, 0, dims).unflatten(-1, {dims / 2, 2});
  const at::Tensor a = pairs.select(-1, 0);
  const at::Tensor b = pairs.select(-1, 1);
  const at::Tensor turned =
      at::stack({a.mul(cosine).sub(b.mul(sine)), b.mul(cosine).add(a.mul(sine))}, -1).flatten(-2);
  const at::Tensor y = at::cat({turned, all.narrow(-1, dims, X.shape().back() - dims)}, -1);
  return {X, y.to(x.local().scalar_type())};
}

}  // namespace riesz
