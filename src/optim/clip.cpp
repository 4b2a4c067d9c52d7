// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/finite.h"
#include "riesz/optim/global_sums.h"

namespace riesz {
namespace {

double norm_of(const Partition& P, const std::vector<Share>& shares) {
  // Others count what is not counted here, but 0 times it is NaN where this worker's replica is not finite.
  double mine = 0;
  for (const Share& share : shares) mine += (share.counted ? 1 : 0) * sum_of_squares(share.gradient);
  return std::sqrt(host_value(global_sums(P, at::full({1}, mine, at::kDouble)), 0.0));
}

}  // namespace

double clip_gradients(Store& store, double max_norm) {
  RIESZ_CHECK(max_norm > 0, "clip_gradients: a largest norm of ", max_norm, "; it must be above 0");
  RIESZ_CHECK(store.reduced(),
              "clip_gradients: the gradients are each worker's own terms, not reduced, and their norm is not "
              "that of the sum; clip where they are reduced (Zero::set_reducing(true))");
  const at::NoGradGuard no_gradient;
  const std::vector<Share> shares = store.shares();
  if (shares.empty()) return 0;
  check_takes_part("clip_gradients", store);
  const double norm = norm_of(store.partition(), shares);
  if (!std::isfinite(norm)) {
    RIESZ_CHECK(!all_finite(store.partition(), shares),
                "clip_gradients: the gradients are finite, but the sum "
                "of their squares is not, so there is no norm to clip to");
    return norm;
  }
  if (norm > max_norm) {
    for (const Share& share : shares) share.gradient.mul_(max_norm / norm);
  }
  store.know_finite(shares);
  return norm;
}

}  // namespace riesz
