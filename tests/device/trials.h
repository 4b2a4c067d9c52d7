// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "trial.h"

namespace riesz::testing {

/// What trials are chosen from: the settings that each factor can be. They are of as many workers as the job
/// has.
using Factors = std::vector<std::vector<std::string>>;

/// A model, a layout, and what runs again; of three workers two models alone.
Factors layout_factors();
/// An optimizer, a stage of ZeRO, the type of products, and whether a batch is in parts.
Factors optimizer_factors();
/// A model, the type of its weights other than fp64, and a layout. Only there the kernels of rows compute.
Factors type_factors();
/// A grid of stages, a schedule, a stage of ZeRO, what runs again, and a model. None with one worker.
Factors pipeline_factors();

/// Every value of each factor with every value of all others.
std::vector<Trial> all_trials(const Factors& factors);
/// Some of these, in which every two values of two factors stand together.
std::vector<Trial> covering_trials(const Factors& factors);

}  // namespace riesz::testing
