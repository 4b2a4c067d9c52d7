// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "riesz/io/checkpoint/stored_names.h"

namespace riesz {

/// The contents of a checkpoint, as this worker has them.
struct CheckpointContents {
  State state;                               ///< values, and what else training goes on from
  Shapes shapes;                             ///< `published_shapes` of the parameters
  std::map<std::string, std::string> texts;  ///< whole files by name, alike on all, such as state.json
};

struct SaveOptions {
  /// The most data in one file; more goes into several, with an index.
  std::int64_t file_bytes = 5'000'000'000;
  /// May it take the place of a folder that is there, and is not empty?
  bool replaces = true;
};

/// Writes a checkpoint: a folder as Hugging Face's, with model.safetensors (values, under the parameters'
/// names, in their published shapes), optimizer.safetensors (all else, under the same names) and the texts.
/// A vector goes by the natural map to a space whose workers have one interval of the file each, and each
/// writes its own; so no worker holds more of it than its part and that interval (and such intervals of small
/// vectors, 2 MB together). No worker waits for another's disk as long as a wait may last, however slow that
/// is; a disk that takes nothing for a deadline ends the job. The bytes depend on the vectors alone, not on
/// who held or wrote them.
///
/// The folder is there whole or not at all (`WholeFolder`), and what had its name stays until then. All
/// workers see one file system. Collective over P, which has all who hold some.
/// @throws Error on all workers, with nothing changed, if a vector is incomplete, there is no room, or any
/// worker cannot write; or if another process is writing a folder of this name.
void save_checkpoint(const std::filesystem::path& folder, const Partition& P,
                     const CheckpointContents& contents, const SaveOptions& options = {});

}  // namespace riesz
