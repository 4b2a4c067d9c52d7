// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/module.h"

namespace riesz {

/// Which calls in a model are regions that run again in backward.
struct RecomputePolicy {
  enum class Regions {
    none,
    blocks,    ///< blocks of `Repeated`, each a region: the first, and then every so many-th
    attention  ///< layers `Attention`: scores, and the masks of dropout, are not kept (2205.05198's
               ///< selective)
  };

  Regions regions = Regions::none;
  std::int64_t every = 1;
  /// `RecomputeOptions::pieces_over`, of each region.
  std::vector<std::string> pieces_over = {};
};

/// "none", "blocks" or "attention". @throws Error naming these three.
RecomputePolicy::Regions recompute_regions(const std::string& name);

/// Makes the model's calls regions as the policy says, and no others. Call it on all workers alike, between
/// steps.
/// @throws Error where nothing in the model is such a region; unless `every` is at least 1.
void set_recompute(Module& model, const RecomputePolicy& policy);

}  // namespace riesz
