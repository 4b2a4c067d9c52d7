// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/extremes.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>

#include <limits>
#include <string>
#include <vector>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/all_max.h"

namespace riesz::detail {

namespace {

/// −least and greatest, which an AllMax brings together.
at::Tensor outer_of(const Vector& x) {
  const at::Tensor local = x.local().detach();
  at::Tensor outer =
      at::full({2}, -std::numeric_limits<double>::infinity(), local.options().dtype(at::kDouble));
  if (local.numel() > 0) {
    outer = at::stack({at::amin(local).to(at::kDouble).neg(), at::amax(local).to(at::kDouble)});
  }
  std::vector<std::string> axes;
  for (int dim = 0; dim < x.space().dims(); ++dim) {
    for (const std::string& axis : sharding_axes(x.space(), dim)) axes.push_back(axis);
  }
  return all_max(x.space().partition(), axes, outer);
}

Extremes read_extremes(const at::Tensor& outer) {
  return {-host_value(outer[0], 0.0), host_value(outer[1], 0.0)};
}

using ExtremesCheck = std::function<void(const Extremes&)>;

void check_extremes_here(const at::Tensor& outer, const ExtremesCheck& check) { check(read_extremes(outer)); }

void check_extremes_later(const at::Tensor& outer, const ExtremesCheck& check) {
  check_later(LateValue(outer), [check](const at::Tensor& found) { check(read_extremes(found)); });
}

const Dispatched<void(const at::Tensor&, const ExtremesCheck&)> extremes_checks{check_extremes_here,
                                                                                check_extremes_later};

}  // namespace

Extremes extremes(const Vector& x) { return read_extremes(outer_of(x)); }

void check_extremes(const Vector& x, const ExtremesCheck& check) {
  const at::Tensor outer = outer_of(x);
  extremes_checks(outer.device(), outer, check);
}

}  // namespace riesz::detail
