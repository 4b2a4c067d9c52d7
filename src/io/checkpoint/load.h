// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "riesz/io/checkpoint/stored_names.h"

namespace riesz {

struct LoadOptions {
  bool strict = true;  ///< is it an error if the wanted and the stored vectors differ?
  /// For weights: maps a stored tensor's name to the name of a parameter here; by default the same name. ""
  /// leaves the tensor out. A tensor with a name that no parameter has is extra; a parameter whose name no
  /// tensor gets is missing.
  std::function<std::string(const std::string& stored)> called = {};
  /// The error's advice where something does not fit; "": the library's advice.
  std::string remedy = {};
  /// Is a number that is not finite an error? Each worker then checks once what it has read, and what was
  /// read before is written.
  bool finite = false;
};

/// What a load could not use, each in a line of text, by name.
struct LoadReport {
  std::vector<std::string> missing;    ///< wanted, and not in the files: they are as they were
  std::vector<std::string> extra;      ///< in the files, and not wanted
  std::vector<std::string> misshapen;  ///< in both, and different: they are as they were

  bool empty() const { return missing.empty() && extra.empty() && misshapen.empty(); }
};

/// "3 are missing: …", a paragraph for each kind; "" where the report is empty.
std::string to_string(const LoadReport& report);

/// Loads a checkpoint into the views, at any layout, stage and number of workers. Each worker reads its own
/// elements straight into the views; nothing moves between workers. Values may be of another floating type
/// and are cast; all else must have the same type. One worker's own state is restored only on the same grid;
/// elsewhere it begins at zero. The owner of the state, such as an optimizer, then goes on from it. Without
/// `strict`, where something is missing or misshapen, an optimizer's next step is an error until its
/// `loaded()` was called. Collective over P, which must have all workers that load.
/// @throws Error on all workers, before anything is written, naming all that is missing, extra and misshapen.
/// Without `strict` the report says so instead.
LoadReport load_checkpoint(const std::filesystem::path& folder, const Partition& P, const State& state,
                           const Shapes& shapes, const LoadOptions& options = {});

/// The same for parameters alone, from any folder, file or index of safetensors (`StoredTensors`). It sets
/// their values; masters and gathered values follow. Call it between steps. Local, but alike on all workers,
/// whose parameters have the same names. @throws Error likewise.
LoadReport load_weights(const std::filesystem::path& path, const std::vector<Parameter>& parameters,
                        const LoadOptions& options = {});

/// A model's weights alone, as state to save, for parameters that no `Zero` keeps. A value that was not drawn
/// yet is drawn.
State state_of_values(const std::vector<Parameter>& parameters);

}  // namespace riesz
