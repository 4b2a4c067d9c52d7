// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>

#include "riesz/optim/optimizer.h"
#include "riesz/train/config.h"

namespace riesz {

/// The optimizer that a configuration names, on what a store holds; `workers`: all of the model's, on their
/// grid.
std::unique_ptr<Optimizer> make_optimizer(const Config::Optimizer& config,
                                          const std::shared_ptr<Store>& store, const Partition& workers);

/// What a schedule says of a step.
struct Pace {
  double learning_rate;
  std::optional<double> momentum;  ///< SGD's, or beta1; of one cycle alone
};

/// Of step number `step`, from 0, of `steps`.
Pace pace(const Config::Schedule& schedule, double highest_rate, std::int64_t steps, std::int64_t step);

}  // namespace riesz
