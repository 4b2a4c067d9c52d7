// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "riesz/app/jobs/form.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The hosts that `riesz plan-memory` is asked about.
struct HostWords {
  std::optional<int> ranks;      ///< that run on one host; by default all of the layout's
  std::optional<double> memory;  ///< that a host has left, in GiB; by default as much as this one has now
  std::int64_t predicts = 0;     ///< rows and columns of images that the trained model is to predict; 0: none
  std::int64_t tile = 0;         ///< as `PredictWords`, and so is at_once
  std::int64_t at_once = 0;
};

/// The ranks that run on one host. Local. @throws Error where the layout has fewer, or the host no memory.
int check_host(const Config& config, const HostWords& host);

/// The memory of each rank of a training, by category (`estimate_memory`), as text or JSON, and a check that
/// the ranks of a host fit; also what predicting in tiles takes (`memory_of_tiles`). It works for any layout:
/// no job is started, nothing is allocated, and only config.json is read of model.from. Local.
/// @throws Error on bad input, where the ranks do not fit (as `check_memory`), or where this host does not
/// say its free memory.
std::string memory_plan(const Config& given, const HostWords& host, Form form = Form::text);

}  // namespace riesz::app
