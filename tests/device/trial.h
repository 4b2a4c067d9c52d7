// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "riesz/testing/scale.h"

namespace riesz::testing {

/// A short training of a small model in fp64, in sizes that nothing divides, as `riesz train` makes it: its
/// batches are sent ahead from pinned memory.
struct Trial {
  /// Beside those of all trials, such as "model.kind=llama layout.tp=2". The word "grid=a1.b2.c2" gives the
  /// grid of a layout that settings cannot say.
  std::string settings;
  int steps = 3;

  const std::string& name() const { return settings; }
  /// To which it is the same on a device. Products of half types round otherwise there.
  double bound() const { return in_half_types() ? 1e-2 : 1e-10; }
  bool in_half_types() const { return settings.find("compute=") != std::string::npos; }
};

/// Called before each step, counted from 0. What it returns lives as long as the step.
using AroundStep = std::function<std::shared_ptr<void>(int step)>;

/// Each step's loss and gradient norm, and all weights after the last, on the CPU; not the weights in half
/// types, where the rounding of some is all of their gradient. Collective over the job.
TrainingRun trained(const Trial& trial, at::Device device, const AroundStep& around = {});

}  // namespace riesz::testing
