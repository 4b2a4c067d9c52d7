// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/json/strict_json.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// The contents of a checkpoint's state.json: a training's progress and configuration.
struct TrainingState {
  TrainingProgress made;
  std::string data;    ///< a digest of the data, in hexadecimal
  Json configuration;  ///< all keys that are read, but for those that `Checkpoints` leaves out
  std::optional<Best> best;
};

/// A training that has come so far by this configuration; `data` is `Task::digest`.
TrainingState state_of(const Config& config, const TrainingProgress& made, std::uint64_t data,
                       const std::optional<Best>& best = {});

/// The text of state.json.
std::string to_text(const TrainingState& state);

/// Reads the state.json of a checkpoint's folder. If a checkpoint of an earlier version lacks the number of
/// rows taken, it is one batch of its configuration for each step.
/// @throws Error naming the file where it is no such state, or has another step than the folder's name.
TrainingState state_in(const std::filesystem::path& folder);

/// The settings that differ between the two states, a line each, such as "train.seed was 1, and is 2".
std::vector<std::string> differences(const TrainingState& then, const TrainingState& now);

/// Are held-out losses measured on the same rows now as then?
bool measures_the_same(const TrainingState& then, const TrainingState& now);

/// @throws Error where the state of the folder means something else to `config`: where the kind or a size of
/// the model differs, also with equal shapes, as with another number of heads. @throws Error where the
/// optimizer or the types keep other state. It names both values, and says how to go on.
void check_goes_on(const TrainingState& then, const std::filesystem::path& folder, const Config& config);

}  // namespace riesz
