// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/clip.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/optim/finite.h"
#include "riesz/optim/global_sums.h"
#include "riesz/optim/per_element.h"

namespace riesz {
namespace {

double norm_of(const Partition& P, const std::vector<Share>& shares) {
  // Others count what is not counted here, but 0 times it is NaN where this worker's replica is not finite.
  double mine = 0;
  for (const Share& share : shares) mine += (share.counted ? 1 : 0) * sum_of_squares(share.gradient);
  return std::sqrt(host_value(global_sums(P, at::full({1}, mine, at::kDouble)), 0.0));
}

constexpr const char* kNoNorm =
    "clip_gradients: the gradients are finite, but the sum of their squares is not, so there is no norm "
    "to clip to";

/// Σ of the squares of norms, those of the shares that this worker counts.
at::Tensor squares_there(const std::vector<Share>& shares, const at::Tensor& norms) {
  std::vector<at::Tensor> terms = norms.square().unbind();
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (!shares[i].counted) terms[i] = terms[i].mul(0);  // NaN where it is not finite
  return at::stack(terms).sum();
}

/// The norm of fp64 gradients, the only ones the sum of whose squares may be too large. `sizes`: their
/// largest elements.
at::Tensor norm_of_doubles_there(Store& store, const at::Tensor& squares, const at::Tensor& sizes) {
  const at::Tensor sums = global_sums(store.partition(), at::stack({squares, sizes.mul(0).sum()}));
  const at::Tensor norm = sums[0].sqrt();
  const at::Tensor none = sums[1].eq(0).logical_and(norm.isfinite().logical_not());
  check_later(LateValue(none), [](const at::Tensor& bad) { RIESZ_CHECK(!host_value(bad, false), kNoNorm); });
  store.skip_if(none);
  return norm;
}

/// Neighbours at once.
void scale_there(const std::vector<Share>& shares, const at::Tensor& factor) {
  const auto alike = [](std::size_t, std::size_t) { return true; };
  for (const Run& run : runs(shares, {0, 0, shares.size()}, alike)) run.gradient.mul_(factor);
}

LateNumber clip_there(Store& store, const std::vector<Share>& shares, double max_norm) {
  const bool doubles = std::any_of(shares.begin(), shares.end(),
                                   [](const Share& s) { return s.gradient.scalar_type() == at::kDouble; });
  const at::Tensor norms = norms_there(shares, 2);
  const at::Tensor sizes = doubles ? norms_there(shares, std::numeric_limits<double>::infinity()) : norms;
  const at::Tensor squares = squares_there(shares, norms);
  const at::Tensor norm = doubles ? norm_of_doubles_there(store, squares, sizes)
                                  : global_sums(store.partition(), squares.view({1})).sqrt().squeeze();
  if (std::isfinite(max_norm)) {
    const at::Tensor is_clipped = norm.gt(max_norm).logical_and(norm.isfinite());
    scale_there(shares, at::where(is_clipped, norm.reciprocal().mul(max_norm), 1));
  }
  store.know_finite(shares, sizes);
  return LateNumber(norm);
}

}  // namespace

LateNumber clip_gradients(Store& store, double max_norm) {
  RIESZ_CHECK(max_norm > 0, "clip_gradients: a largest norm of ", max_norm, "; it must be above 0");
  RIESZ_CHECK(store.reduced(),
              "clip_gradients: the gradients are each worker's own terms, not reduced, and their norm is not "
              "that of the sum; clip where they are reduced (Zero::set_reducing(true))");
  const at::NoGradGuard no_gradient;
  const std::vector<Share> shares = store.shares();
  if (shares.empty()) return 0;
  check_takes_part("clip_gradients", store);
  if (on_a_device(shares)) return clip_there(store, shares, max_norm);
  const double norm = norm_of(store.partition(), shares);
  if (!std::isfinite(norm)) {
    RIESZ_CHECK(!all_finite(store.partition(), shares), kNoNorm);
    store.changed_since_finite(shares);  // forgets what a LossScale knew before it
    return norm;
  }
  if (norm > max_norm) {
    for (const Share& share : shares) share.gradient.mul_(max_norm / norm);
  }
  store.know_finite(shares);
  return norm;
}

}  // namespace riesz
