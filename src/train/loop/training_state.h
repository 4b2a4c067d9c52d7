// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "riesz/io/json/strict_json.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// What a checkpoint's state.json says of its training: how far it has come, and by which configuration.
struct TrainingState {
  Made made;
  std::string data;    ///< a digest of the data, in hexadecimal
  Json configuration;  ///< all keys that are read, but for the layout, the pipeline and where files lie
};

/// A training that has come so far by this configuration; `data` is `Task::digest`.
TrainingState state_of(const Config& config, const Made& made, std::uint64_t data);

/// The text of state.json.
std::string to_text(const TrainingState& state);

/// Reads the state.json of a checkpoint's folder. A checkpoint of an earlier version does not say how
/// many rows it has taken: it took a batch of its own configuration in each step.
/// @throws Error naming the file, where it is no such state, or where the folder is named by another step.
TrainingState state_in(const std::filesystem::path& folder);

/// The settings that differ from then, a line each, such as "train.seed was 1, and is 2".
std::vector<std::string> differences(const TrainingState& then, const TrainingState& now);

/// @throws Error where the state of the folder means something else to `config`: the kind or a size of the
/// model, also where all shapes are the same, as with another number of heads; or where the optimizer or the
/// types keep other state. It names both values, and says how to go on.
void check_goes_on(const TrainingState& then, const std::filesystem::path& folder, const Config& config);

}  // namespace riesz
