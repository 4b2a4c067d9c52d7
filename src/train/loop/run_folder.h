// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The folder of a training: its results, and its checkpoints. Local.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace riesz {

/// The checkpoint of a training that has its model.
struct ModelCheckpoint {
  std::filesystem::path folder;
  std::int64_t step = 0;
  bool best = false;           ///< by held-out loss, as the last one says; else it is the last
  std::int64_t last_step = 0;  ///< of the last checkpoint
};

/// The checkpoint to take the model from, of those in a training's folder: the best by held-out loss, if it
/// is there, else the last. Nothing where there is none. Where the folder's config.toml says that checkpoints
/// go elsewhere, those there.
std::optional<ModelCheckpoint> model_checkpoint_in(const std::filesystem::path& folder);

/// Moves the checkpoints in a folder, and the results of their training, into the first folder earlier-1,
/// earlier-2, … in it that is not there yet. Returns it; "" where there are no checkpoints.
/// @throws Error naming what cannot be moved.
std::filesystem::path set_aside(const std::filesystem::path& folder);

/// For a message about what is missing in a folder: "; it has loss.csv, report.txt, …", a few names; or that
/// it has nothing, or is not there.
std::string what_is_in(const std::filesystem::path& folder);

}  // namespace riesz
