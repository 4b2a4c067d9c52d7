// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "trial.h"

namespace riesz::testing {

/// A small minGPT on two stages, trained by a schedule that updates weights between its passes.
struct UpdatingTrial {
  std::string schedule;          ///< "pipedream", "two_bw" or "ampnet"
  std::optional<int> zero = {};  ///< the stage of each chunk's
  int runs = 3;

  std::string name() const;
  double bound() const { return 1e-10; }
};

/// Each run's losses, and all weights after the last, on the CPU. `around` is called before each run.
/// Collective over the job, of an even number of workers.
TrainingRun trained(const UpdatingTrial& trial, at::Device device, const AroundStep& around = {});

}  // namespace riesz::testing
