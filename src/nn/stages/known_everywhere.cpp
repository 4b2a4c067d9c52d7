// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/known_everywhere.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "riesz/nn/module.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/known_to.h"

namespace riesz {
namespace {

/// All workers of a model's stages.
Partition all_of(const Stages& stages) {
  Partition all = stages.spaces(0).mesh();
  for (int stage = 1; stage < stages.size(); ++stage) {
    const Partition& home = stages.spaces(stage).mesh();
    if (!(home == all)) all = all | home;
  }
  return all;
}

}  // namespace

at::Tensor known_everywhere(const Module& model, const Vector& x) {
  const at::NoGradGuard no_gradient;
  const Space& X = x.space();
  const Partition all = model.stages() != nullptr ? all_of(*model.stages()) : X.partition();
  return between(X, Space(all, X.shape()))({X, x.local().detach()}).local();
}

std::string known_everywhere(const Module& model, int stage, const std::string& text) {
  const Stages* stages = model.stages();
  if (stages == nullptr) return text;
  const at::NoGradGuard no_gradient;
  const Partition& home = stages->spaces(stage).mesh();
  const Partition first = Partition::world().subset({home.world_rank(0)});
  const auto size = static_cast<std::int64_t>(text.size());
  const Space X = known_to(all_of(*stages), Space(first, {first.active() ? size : Space::any}));
  const at::Tensor mine = first.active()
                              ? at::from_blob(const_cast<char*>(text.data()), {size}, at::kByte).clone()
                              : at::empty({0}, at::kByte);
  const at::Tensor bytes = known_everywhere(model, Vector(X, mine)).contiguous();
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

}  // namespace riesz
