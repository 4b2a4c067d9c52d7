// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/finite.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/optim/optimizer.h"
#include "riesz/optim/per_element.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

bool is_finite(const at::Tensor& x) {
  if (x.numel() == 0) return true;
  const auto [least, greatest] = at::aminmax(x);  // NaN if any is
  return std::isfinite(host_value(least, 0.0)) && std::isfinite(host_value(greatest, 0.0));
}

/// Neighbours at once.
bool finite_here(const std::vector<Share>& shares) {
  const auto alike = [](std::size_t, std::size_t) { return true; };
  const std::vector<Run> all = runs(shares, {0, 0, shares.size()}, alike);
  return std::all_of(all.begin(), all.end(), [](const Run& run) { return is_finite(run.gradient); }) &&
         std::all_of(shares.begin(), shares.end(),
                     [](const Share& s) { return !s.term.defined() || is_finite(s.term); });
}

/// The number of the first share that is not finite here; that of all where none is.
std::size_t first_not_finite(const std::vector<Share>& shares) {
  if (finite_here(shares)) return shares.size();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!is_finite(shares[i].arrived())) return i;
  }
  return shares.size();
}

std::size_t least_over(const Partition& P, std::size_t number) {
  std::vector<std::string> axes;
  for (const Axis& axis : P.axes()) axes.push_back(axis.name);
  const at::Tensor mine = at::full({1}, static_cast<std::int64_t>(number), at::kLong);
  return static_cast<std::size_t>(host_value(all_min(P, axes, mine), static_cast<std::int64_t>(number)));
}

}  // namespace

bool all_finite(const Partition& P, const std::vector<Share>& shares) {
  return least_over(P, finite_here(shares) ? 1 : 0) == 1;
}

void check_finite(const std::string& what, Store& store, const std::vector<Share>& shares) {
  const at::NoGradGuard no_gradient;
  const std::optional<std::vector<Share>> changed = store.changed_since_finite(shares);
  const std::vector<Share>& looked_at = changed ? *changed : shares;
  std::size_t first = first_not_finite(looked_at);
  if (!changed) {
    if (!shares.empty()) first = std::min(first, least_over(store.partition(), first));
  }
  if (first == looked_at.size()) return;
  const std::string name = looked_at[first].parameter.name();
  try {
    throw_error(concat(what, ": the gradient of ", name,
                       " has an element that is NaN or infinite, so no value is changed; look for what makes "
                       "it (too high a learning rate, a division by zero), or leave the step out by "
                       "zero_gradients(), as a LossScale does for fp16"));
  } catch (const Error& error) {
    throw NotFiniteGradient(error.what(), name);
  }
}

}  // namespace riesz
