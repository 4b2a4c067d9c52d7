// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "riesz/testing/scale.h"

namespace riesz::testing {

/// A short training of a small model in fp64, or in the type of a word such as "precision=bf16", in sizes
/// that nothing divides, as `riesz train` makes it: its batches are sent ahead from pinned memory.
struct Trial {
  /// Beside those of all trials, such as "model.kind=llama layout.tp=2". The word "grid=a1.b2.c2" gives the
  /// grid of a layout that settings cannot say.
  std::string settings;
  int steps = 3;

  const std::string& name() const { return settings; }
  /// To which it is the same on a device, relative to a tensor's largest element. Some 1,000 roundings lie
  /// between the first weights and the last, of 6·10⁻⁸ in fp32 and 10⁻¹⁶ in fp64. Products of half types are
  /// rounded to 4·10⁻³ each, and losses are means of them.
  double bound() const { return in_half_types() ? 1e-2 : has("precision=fp32") ? 1e-4 : 1e-10; }
  bool in_half_types() const { return has("compute=") || has("precision=bf16"); }
  /// The steps whose losses and norms are compared. In half types the rounding of a momentum near zero is its
  /// sign, and one_bit_adam updates by signs alone, from its second step on.
  int compared_steps() const { return in_half_types() && has("one_bit_adam") ? 2 : steps; }
  bool has(const char* word) const { return settings.find(word) != std::string::npos; }
};

/// Called before each step, counted from 0. What it returns lives as long as the step.
using AroundStep = std::function<std::shared_ptr<void>(int step)>;

/// Each compared step's loss and gradient norm, and all weights after the last, on the CPU; not the weights
/// in half types, where the rounding of some is all of their gradient. Collective over the job.
TrainingRun trained(const Trial& trial, at::Device device, const AroundStep& around = {});

}  // namespace riesz::testing
