// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "riesz/optim/optimizer.h"
#include "riesz/train/config/config.h"

namespace riesz {

/// The optimizer that a configuration names, for a store. `sharers`: the workers through this one that share
/// out the batch and the sequences (`token_axes`). Local.
std::unique_ptr<Optimizer> make_optimizer(const Config::Optimizer& config,
                                          const std::shared_ptr<Store>& store, const Partition& sharers);

/// The rates and momentum of a step by the schedule.
struct Pace {
  double learning_rate;
  std::optional<double> momentum;  ///< SGD's, or beta1; only with schedule.kind = "one_cycle"
};

/// The pace of step number `step`, from 0, of `steps`.
Pace pace(const Config::Schedule& schedule, double highest_rate, std::int64_t steps, std::int64_t step);

}  // namespace riesz
