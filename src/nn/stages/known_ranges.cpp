// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/known_ranges.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "riesz/nn/context.h"
#include "riesz/nn/parameter.h"
#include "riesz/nn/recompute/region_scope.h"
#include "riesz/nn/stages/crossing.h"
#include "riesz/partition/participation.h"

namespace riesz::detail {

void add_mode(CallOf& call) {
  const Context* context = ContextScope::current();
  const bool training = context != nullptr && context->training;
  call.words.push_back((at::GradMode::is_enabled() ? 1 : 0) + (c10::InferenceMode::is_enabled() ? 2 : 0) +
                       (training ? 4 : 0));
  call.words.push_back(static_cast<double>(parameter_changes()));
}

void add_vector(CallOf& call, const Vector& x) {
  const at::Tensor& local = x.local();
  call.spaces.push_back(x.space());
  call.words.push_back(static_cast<double>(local.scalar_type()));
  call.words.push_back(static_cast<double>(local.device().type()));
  call.words.push_back(local.device().index());
  call.words.push_back((local.requires_grad() ? 1 : 0) + (x.is_constant() ? 2 : 0));
}

Vector anew(const Vector& x) {
  at::Tensor local = at::empty({0}, x.local().options());
  // As if it were computed now: a pipeline tells by its node in which chunk it was.
  if (x.local().requires_grad()) local = local.requires_grad_().alias();
  return {x.space(), local, x.is_constant()};
}

std::vector<std::size_t> first_copies(const std::vector<Vector>& xs) {
  std::vector<std::size_t> first;
  for (const Vector& x : xs) {
    const auto same = [&](const Vector& other) { return &other.kept() == &x.kept(); };
    first.push_back(static_cast<std::size_t>(std::find_if(xs.begin(), xs.end(), same) - xs.begin()));
  }
  return first;
}

std::uint64_t times_taken_part() { return participation_count() + StageScope::entered(); }

/// In a region nothing is known: its second run keeps what its first did.
std::shared_ptr<const KnownRanges::Known> KnownRanges::find(const CallOf& call) {
  if (InRegion::name() != nullptr) return nullptr;
  return known_.find([&](const Known& known) { return known.call == call; });
}

void KnownRanges::keep(Known known) {
  if (InRegion::name() != nullptr) return;
  const auto made = std::make_shared<const Known>(std::move(known));
  known_.keep([&](const Known& other) { return other.call == made->call; }, made);
}

}  // namespace riesz::detail
