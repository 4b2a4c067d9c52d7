// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/nn/module.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// This worker's part in the model's pipeline, in lines. These are its stages with their modules, its row of
/// the schedule, and the share of time in which workers are idle, if forward takes one unit and backward two.
/// Then come its parameters, the most activations that it keeps, and how much of `sent` goes to other stages.
/// "" where the model is not placed. Local.
std::string stage_text(const Config& config, const Module& model, const std::vector<TrafficRecord>& sent);

/// Where vectors and weights lie (`ModelSpaces::describe`), in each of this worker's stages if there are any.
std::string spaces_text(const Module& model);

}  // namespace riesz::app
