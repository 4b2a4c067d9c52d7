// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sum.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/optim/global_sums.h"
#include "riesz/partition/pairing.h"

namespace riesz {
namespace {

/// The squares of terms do not add up to the square of their sum, and copies would count more than once.
void check_counted_once(const std::string& name, const Space& gradient) {
  for (const Axis& axis : gradient.partition().axes()) {
    const Placement placement = gradient.placement(axis.name);
    RIESZ_CHECK(axis.extent == 1 || placement == Placement::Sharded || placement == Placement::Replicated,
                "clip_gradients: the gradient of ", name, " is ", to_string(placement), " on axis ",
                axis.name, ", in ", to_string(gradient), "; it must be Sharded or Replicated there");
  }
}

void check_largest(double max_norm) {
  RIESZ_CHECK(max_norm > 0, "clip_gradients: a largest norm of ", max_norm, "; it must be above 0");
}

}  // namespace

double clip_gradients(const std::vector<Parameter>& parameters, double max_norm) {
  check_largest(max_norm);
  if (parameters.empty()) return 0;
  const at::NoGradGuard no_gradient;
  const Partition& P = parameters.front().space().partition();
  double mine = 0;
  for (const Parameter& parameter : parameters) {
    RIESZ_CHECK(parameter.space().partition() == P, "clip_gradients: ", parameter.name(), " lies on ",
                to_string(parameter.space().partition()), ", the others on ", to_string(P));
    const Vector gradient = parameter.gradient();
    check_counted_once(parameter.name(), gradient.space());
    if (!P.active() || gradient.space().leader(P.rank(), {Placement::Replicated}) != P.rank()) continue;
    mine += at::sum(gradient.local().to(at::kDouble).square()).item<double>();
  }
  double sum = 0;
  for (const at::Tensor& term : collect("clip_gradients", P, at::scalar_tensor(mine, at::kDouble))) {
    sum += term.item<double>();
  }
  const double norm = std::sqrt(sum);
  if (norm > max_norm) {
    for (const Parameter& parameter : parameters) parameter.gradient().local().mul_(max_norm / norm);
  }
  return norm;
}

double clip_gradients(Store& store, double max_norm) {
  check_largest(max_norm);
  const at::NoGradGuard no_gradient;
  const std::vector<Share> shares = store.shares();
  if (shares.empty()) return 0;
  double mine = 0;
  for (const Share& share : shares) {
    if (share.counted) mine += sum_of_squares(share.gradient);
  }
  const double norm =
      std::sqrt(global_sums(store.partition(), at::full({1}, mine, at::kDouble)).item<double>());
  if (norm > max_norm) {
    for (const Share& share : shares) share.gradient.mul_(max_norm / norm);
  }
  return norm;
}

}  // namespace riesz
