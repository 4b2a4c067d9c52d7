// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "there.h"

namespace riesz::testing {

struct NamedRun {
  std::string name;
  Run run;
};

// Values and gradients of layers, in more than one space each. Collective over the job.
std::vector<NamedRun> linear_runs();
std::vector<NamedRun> norm_and_embedding_runs();
std::vector<NamedRun> attention_runs();
std::vector<NamedRun> loss_runs();
std::vector<NamedRun> expert_runs();
std::vector<NamedRun> image_runs();
/// Of three spatial dims.
std::vector<NamedRun> volume_runs();

/// All of them.
std::vector<NamedRun> layer_runs();

}  // namespace riesz::testing
