// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/policy.h"

#include "riesz/comm/error.h"
#include "riesz/nn/attention/attention.h"

namespace riesz {
namespace {

using Regions = RecomputePolicy::Regions;

void let_go(Module& module) {
  module.set_recompute(std::nullopt);
  for (Module* part : module.parts()) let_go(*part);
}

std::vector<Module*> regions_of(Module& module, const RecomputePolicy& policy) {
  if (policy.regions == Regions::attention && dynamic_cast<Attention*>(&module) != nullptr) return {&module};
  std::vector<Module*> regions;
  const bool blocks = policy.regions == Regions::blocks && module.is_repeated();
  for (std::size_t i = 0; i < module.parts().size(); ++i) {
    Module& part = *module.parts()[i];
    if (!blocks) {
      const std::vector<Module*> inside = regions_of(part, policy);
      regions.insert(regions.end(), inside.begin(), inside.end());
    } else if (i % static_cast<std::size_t>(policy.every) == 0) {
      regions.push_back(&part);
    }
  }
  return regions;
}

}  // namespace

Regions recompute_regions(const std::string& name) {
  if (name == "blocks") return Regions::blocks;
  if (name == "attention") return Regions::attention;
  RIESZ_CHECK(name == "none", "recompute of \"", name, "\"; it is none, blocks or attention");
  return Regions::none;
}

void set_recompute(Module& model, const RecomputePolicy& policy) {
  RIESZ_CHECK(policy.every >= 1, "recompute of every ", policy.every, "th block; of every first at least");
  let_go(model);
  if (policy.regions == Regions::none) return;
  const std::vector<Module*> regions = regions_of(model, policy);
  RIESZ_CHECK(!regions.empty(), "recompute: in the model ", model.describe(), " there is no ",
              policy.regions == Regions::blocks ? "block of a Repeated" : "layer Attention",
              " to run again; call a part with recompute(region, x…), or set_recompute a module of it");
  for (Module* region : regions)
    region->set_recompute(RecomputeOptions{.name = {}, .pieces_over = policy.pieces_over});
}

}  // namespace riesz
