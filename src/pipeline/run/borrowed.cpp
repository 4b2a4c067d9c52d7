// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/borrowed.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// Copied where it is Replicated: gradients are summed over those axes on the way back, once.
Space used_in(const Space& X) {
  Space use = X;
  for (const Axis& axis : X.partition().axes()) {
    if (X.placement(axis.name) == Placement::Replicated) use = use.copied(axis.name);
  }
  return use;
}

}  // namespace

Borrowed::Borrowed(const std::vector<LentParameter>& lent) {
  const bool recorded = at::GradMode::is_enabled();
  const at::NoGradGuard no_gradient;
  for (const LentParameter& each : lent) {
    const Vector value = each.owner.value();
    // Copied first at the owner, so that each of its workers serves one there, and sums once on the way back.
    const Space copies = used_in(value.space());
    const Operator A = between(copies, used_in(each.here.space())) * between(value.space(), copies);
    const Vector here = A({value.space(), value.local().detach(), value.is_constant()});
    const bool trained = recorded && each.owner.trained();
    all_.push_back(
        {each, A, {here.space(), here.local().detach().clone().requires_grad_(trained), here.is_constant()}});
    all_.back().lent.here.use_leaf(all_.back().leaf);
    if (trained) each.owner.expect_gradient();
  }
}

Borrowed::~Borrowed() {
  for (One& one : all_) one.lent.here.use_leaf(std::nullopt);
}

void Borrowed::take() {
  for (One& one : all_) {
    const at::ScalarType type = one.leaf.local().scalar_type();
    at::Tensor& come = one.leaf.local().mutable_grad();
    if (!come.defined() || type == accumulation_type(type)) continue;
    const at::Tensor more = std::exchange(come, at::Tensor()).to(accumulation_type(type));
    one.taken = one.taken.defined() ? one.taken.add_(more) : more;
  }
}

void Borrowed::give_back() {
  take();
  const at::NoGradGuard no_gradient;
  for (One& one : all_) {
    if (!one.leaf.local().requires_grad()) continue;
    if (one.taken.defined())
      one.leaf.local().mutable_grad() = std::exchange(one.taken, {}).to(one.leaf.local().scalar_type());
    one.lent.owner.leave_gradient(adjoint(one.A)(gradient(one.leaf)).local());
  }
}

}  // namespace riesz
