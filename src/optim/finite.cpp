// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/finite.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
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

std::vector<Share> those_of(const std::vector<Share>& shares, const std::vector<std::size_t>& numbers) {
  std::vector<Share> some;
  for (const std::size_t i : numbers) some.push_back(shares[i]);
  return some;
}

std::vector<std::string> axes_of(const Partition& P) {
  std::vector<std::string> axes;
  for (const Axis& axis : P.axes()) axes.push_back(axis.name);
  return axes;
}

std::size_t least_over(const Partition& P, std::size_t number) {
  const at::Tensor mine = at::full({1}, static_cast<std::int64_t>(number), at::kLong);
  return static_cast<std::size_t>(
      host_value(all_min(P, axes_of(P), mine), static_cast<std::int64_t>(number)));
}

}  // namespace

bool all_finite(const Partition& P, const std::vector<Share>& shares) {
  return least_over(P, finite_here(shares) ? 1 : 0) == 1;
}

at::Tensor norms_there(const std::vector<Share>& shares, double order) {
  std::vector<at::Tensor> some;
  for (const Share& share : shares)
    if (share.arrived().numel() > 0) some.push_back(share.arrived());
  const auto options = shares.front().gradient.options().dtype(at::kDouble);
  if (some.empty()) return at::zeros({static_cast<std::int64_t>(shares.size())}, options);
  some = at::_foreach_norm(some, order, at::kDouble);
  const at::Tensor zero = at::zeros({}, options);
  std::vector<at::Tensor> all;
  std::size_t next = 0;
  for (const Share& share : shares) all.push_back(share.arrived().numel() > 0 ? some[next++] : zero);
  return at::stack(all);
}

at::Tensor all_over(const Partition& P, const at::Tensor& flag) {
  return all_min(P, axes_of(P), flag.to(at::kLong).view({1})).eq(1).squeeze();
}

namespace {

[[noreturn]] void throw_not_finite(const std::string& what, const std::string& name, bool late) {
  try {
    throw_error(concat(what, ": the gradient of ", name,
                       " has an element that is NaN or infinite, so no value is changed; look for what makes "
                       "it (too high a learning rate, a division by zero), or ",
                       late
                           ? "train on: the device left that step out, and the call that throws this changes "
                             "nothing either"
                           : "leave the step out by zero_gradients(), as a LossScale does for fp16"));
  } catch (const Error& error) {
    throw NotFiniteGradient(error.what(), name, late);
  }
}

/// Once the host knows which one is the first.
void throw_later(const std::string& what, const at::Tensor& first, const std::vector<Share>& shares) {
  std::vector<Parameter> parameters;
  for (const Share& share : shares) parameters.push_back(share.parameter);
  check_later(LateValue(first), [what, parameters = std::move(parameters)](const at::Tensor& number) {
    const auto none = static_cast<std::int64_t>(parameters.size());
    const std::int64_t at = host_value(number, none);
    if (at != none) throw_not_finite(what, parameters[static_cast<std::size_t>(at)].name(), true);
  });
}

/// Of the gradients as they are now: those that the store knows, and anew of those that were changed since.
at::Tensor norms_now(Store& store, const std::vector<Share>& shares) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<std::vector<std::size_t>> changed = store.changed_since_finite(shares);
  if (!changed) return norms_there(shares, kInfinity);
  const auto n = static_cast<std::int64_t>(shares.size());
  const auto options = shares.front().gradient.options().dtype(at::kDouble);
  const at::Tensor known = store.known_norms().defined() ? store.known_norms() : at::zeros({n}, options);
  if (changed->empty()) return known;
  std::vector<at::Tensor> all = known.unbind();
  const std::vector<at::Tensor> anew = norms_there(those_of(shares, *changed), kInfinity).unbind();
  for (std::size_t k = 0; k < anew.size(); ++k) all[(*changed)[k]] = anew[k];
  return at::stack(all);
}

/// Without dims: the number of the first of some numbers that is not finite on any worker of P; how many
/// they are if there is none.
at::Tensor first_not_finite_there(const Partition& P, const at::Tensor& numbers) {
  const at::Tensor order = at::arange(numbers.numel(), numbers.options().dtype(at::kLong));
  const at::Tensor mine = at::where(numbers.isfinite(), numbers.numel(), order).amin();
  return all_min(P, axes_of(P), mine.view({1})).squeeze();
}

at::Tensor check_finite_there(const std::function<std::string()>& what, Store& store,
                              const std::vector<Share>& shares, const at::Tensor& only_if) {
  const auto none = static_cast<std::int64_t>(shares.size());
  const at::Tensor first = first_not_finite_there(store.partition(), norms_now(store, shares));
  const at::Tensor finite = first.eq(none);
  throw_later(what(), only_if.defined() ? at::where(only_if, first, none) : first, shares);
  return only_if.defined() ? finite.logical_and(only_if) : finite;
}

}  // namespace

at::Tensor check_finite(const std::function<std::string()>& what, Store& store,
                        const std::vector<Share>& shares, const at::Tensor& only_if) {
  const at::NoGradGuard no_gradient;
  if (on_a_device(shares)) return check_finite_there(what, store, shares, only_if);
  const std::optional<std::vector<std::size_t>> changed = store.changed_since_finite(shares);
  const std::vector<Share> looked_at = changed ? those_of(shares, *changed) : shares;
  std::size_t first = first_not_finite(looked_at);
  if (!changed) {
    if (!shares.empty()) first = std::min(first, least_over(store.partition(), first));
  }
  if (first != looked_at.size()) throw_not_finite(what(), looked_at[first].parameter.name(), false);
  return {};
}

}  // namespace riesz
