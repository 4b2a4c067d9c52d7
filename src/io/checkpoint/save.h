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
  /// The most bytes of data in one file; more data go into several files, with an index.
  std::int64_t file_bytes = 5'000'000'000;
  /// May it replace a folder that is not empty?
  bool replaces = true;
};

/// Writes a checkpoint: a folder as Hugging Face's, with model.safetensors (values, under the parameters'
/// names, in their published shapes), optimizer.safetensors (all else, under the same names) and the texts. A
/// vector goes by the natural map to a space in which each worker has one interval of the file, and each
/// writes its own. So no worker holds more of a vector than its part and that interval (and 2 MB of small
/// vectors' intervals). A slow disk does not make other workers' waits time out, but a disk that takes
/// nothing for a deadline ends the job. The bytes depend on the vectors alone, not on who held or wrote them.
///
/// The folder is there whole or not at all (`WholeFolder`), and an old folder stays until then. All workers
/// must see one file system. Collective over P, which must have all workers that hold some state.
/// @throws Error on all workers, with nothing changed, if a vector is incomplete, or there is no room. Also
/// if a worker cannot write, or another process is writing a folder of this name.
void save_checkpoint(const std::filesystem::path& folder, const Partition& P,
                     const CheckpointContents& contents, const SaveOptions& options = {});

}  // namespace riesz
